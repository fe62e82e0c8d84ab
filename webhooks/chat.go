package webhooks

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of what chat services take; the strictest is Discord's 2,000 characters.
const (
	maxChatText  = 1800
	maxChatFacts = 10
	maxChatValue = 200
)

// format makes the body that an endpoint's kind understands.
func format(kind string, rec *record) []byte {
	var v any
	switch kind {
	case KindSlack:
		text := slackEscaper.Replace(summary(rec, "*"))
		v = map[string]any{"text": text, "blocks": []any{
			map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": text}},
		}}
	case KindDiscord:
		v = map[string]any{"content": summary(rec, "**"), "allowed_mentions": map[string]any{"parse": []string{}}}
	case KindMattermost:
		v = map[string]any{"text": mentionEscaper.Replace(summary(rec, "**"))}
	case KindTeams:
		v = teamsCard(rec)
	default:
		return rec.body()
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	return b
}

var (
	slackEscaper   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	mentionEscaper = strings.NewReplacer("@", "@\u200b") // mentions nobody
)

// fact is one member of a payload that a line can show.
type fact struct{ name, value string }

// facts are the plain members of a payload, in their order.
func facts(payload []byte) (headline string, all []fact) {
	dec := json.NewDecoder(strings.NewReader(string(payload)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", nil
	}
	for dec.More() {
		name, err := dec.Token()
		var raw json.RawMessage
		if err != nil || dec.Decode(&raw) != nil {
			break
		}
		value, ok := plain(raw)
		switch {
		case !ok:
		case headline == "" && (name == "text" || name == "message" || name == "title"):
			headline = value
		case len(all) < maxChatFacts:
			all = append(all, fact{fmt.Sprint(name), value})
		}
	}
	return headline, all
}

func plain(raw json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return cut(text, maxChatValue), true
	}
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
		return "", false
	}
	return cut(string(raw), maxChatValue), true
}

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// summary is an event as a few lines of text; bold marks the first.
func summary(rec *record, bold string) string {
	headline, all := facts(rec.Payload)
	lines := []string{bold + rec.Type + bold}
	if headline != "" {
		lines = append(lines, headline)
	}
	for _, f := range all {
		lines = append(lines, f.name+": "+f.value)
	}
	return cut(strings.Join(lines, "\n"), maxChatText)
}

// teamsCard is the adaptive card that incoming webhooks of Teams take.
func teamsCard(rec *record) any {
	headline, all := facts(rec.Payload)
	body := []any{map[string]any{"type": "TextBlock", "text": rec.Type, "weight": "Bolder", "wrap": true}}
	if headline != "" {
		body = append(body, map[string]any{"type": "TextBlock", "text": headline, "wrap": true})
	}
	if len(all) > 0 {
		shown := make([]any, len(all))
		for i, f := range all {
			shown[i] = map[string]string{"title": f.name, "value": f.value}
		}
		body = append(body, map[string]any{"type": "FactSet", "facts": shown})
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content":     map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body},
	}}}
}
