package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"weir/eventlog"
	"weir/projections/errorgroups/grouping"
	"weir/schemas"
	"weir/webhooks"
)

// noticeTopics are the events that endpoints can be told about without anybody asking.
func noticeTopics() []string {
	return []string{eventlog.EventsTopic(schemas.Deploy), eventlog.EventsTopic(schemas.Error)}
}

// noticeOf says what an event gives reason to tell: each deploy, and the first event of an error group.
func noticeOf(chosen grouping.Version) func(*eventlog.Record) []webhooks.Notice {
	return func(r *eventlog.Record) []webhooks.Notice {
		e, err := schemas.Open(r.Value)
		if err != nil || len(r.Key) == 0 {
			return nil
		}
		switch e.Type {
		case schemas.Deploy:
			return []webhooks.Notice{{Type: "deploy." + deployStatus(e.Data), Payload: e.Data}}
		case schemas.Error:
			return newGroup(chosen, string(r.Key), e.Data)
		}
		return nil
	}
}

// deployStatus is the event's status as the last part of an event type.
func deployStatus(data []byte) string {
	value, _ := schemas.Member(data, "status")
	text, _ := schemas.String(value)
	status := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
			return c
		}
		return '_'
	}, strings.ToLower(text))
	if status = strings.Trim(status, "_"); status == "" {
		return "reported"
	}
	return status[:min(len(status), 50)]
}

const shownMessage = 1000

// toldGroup is what a notice says about an error group and the event that gave reason for it.
type toldGroup struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	Message     string `json:"message"`
	Culprit     string `json:"culprit,omitempty"`
	Release     string `json:"release,omitempty"`
	Environment string `json:"environment,omitempty"`
	Service     string `json:"service,omitempty"`
}

func tell(group grouping.Result, payload grouping.Payload) toldGroup {
	return toldGroup{
		hex.EncodeToString(group.Fingerprint[:]), group.Name, strings.ToValidUTF8(payload.Message[:min(len(payload.Message), shownMessage)], ""),
		group.Culprit, payload.Release, payload.Environment, payload.Service,
	}
}

// newGroup names the event's group: only the first event of it is told.
func newGroup(chosen grouping.Version, project string, data []byte) []webhooks.Notice {
	payload, err := grouping.ParsePayload(data)
	if err != nil {
		return nil
	}
	group := chosen.Group(project, payload)
	told, err := json.Marshal(tell(group, payload))
	if err != nil {
		return nil
	}
	return []webhooks.Notice{{Type: "error.group.created", Payload: told, First: thing("error group", project+"\x00"+string(group.Fingerprint[:]))}}
}

// thing is the id of something that is told about once.
func thing(kind, id string) [16]byte {
	sum := sha256.Sum256([]byte(kind + "\x00" + id))
	return [16]byte(sum[:])
}

// startNotices decides what is owed because of events.
func (p *portal) startNotices() error {
	noticer := webhooks.NewNoticer(webhooks.NoticerConfig{
		Log: p.log, Directory: targets{p.directory}, Topics: noticeTopics(), Read: noticeOf(p.algorithm()), Logger: p.logger,
	})
	p.run("notices", noticer.Run)
	return nil
}
