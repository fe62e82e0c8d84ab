// Package baseline is the door as it is usually written, to measure the real one
// against: net/http, encoding/json, a record per event, one kafka-go
// Client.Produce per type of a request. It makes the same checks: key, content
// type, size, signature, JSON, and every field of every event against the same
// definitions. It has no limits, no idempotency keys, no packed bodies and no
// metrics, and duplicate names pass, because encoding/json does not tell. Only
// `weir bench` serves it.
package baseline

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"weir/eventlog"
	"weir/schemas"
)

// Server serves POST /api/ingest for one project.
type Server struct {
	Brokers    []string
	Partitions int // of each events topic
	Project    string
	Key        string
	Secret     []byte

	// Bare leaves out everything but reading the body and checking key and
	// signature: what HTTP alone costs.
	Bare bool

	client kafka.Client
	next   atomic.Uint32
}

const maxBody = 5 << 20

// Open makes the connections to the brokers. Call it once, before serving.
func (s *Server) Open() {
	s.client = kafka.Client{
		Addr: kafka.TCP(s.Brokers...), Timeout: 10 * time.Second,
		Transport: &kafka.Transport{MetadataTopics: eventlog.EventsTopics(), DialTimeout: 3 * time.Second, Dial: (&net.Dialer{}).DialContext},
	}
}

type answer struct {
	Accepted int         `json:"accepted"`
	Rejected []rejection `json:"rejected"`
}

type rejection struct {
	Index  int    `json:"index"`
	Reason string `json:"reason"`
}

// ServeHTTP answers one batch.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, status := s.read(w, r)
	if status != http.StatusOK {
		w.WriteHeader(status)
		return
	}
	if s.Bare {
		s.answerBare(w, body)
		return
	}
	var batch struct {
		Events []json.RawMessage `json:"events"`
	}
	if json.Unmarshal(body, &batch) != nil || batch.Events == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a := answer{Rejected: []rejection{}}
	records := map[string][]kafka.Record{}
	var id [16]byte
	_, _ = rand.Read(id[:])
	for i, raw := range batch.Events {
		t, err := check(raw)
		if err != nil {
			a.Rejected = append(a.Rejected, rejection{i, err.Error()})
			continue
		}
		a.Accepted++
		topic := eventlog.EventsTopic(t)
		records[topic] = append(records[topic], s.record(id, i, raw))
	}
	if err := s.produce(r, records); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

// answerBare counts the types instead of reading the events.
func (s *Server) answerBare(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"accepted":%d,"rejected":[]}`, bytes.Count(body, []byte(`{"type":`)))
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, int) {
	if !hmac.Equal([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.Key)) {
		return nil, http.StatusUnauthorized
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
		return nil, http.StatusBadRequest
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge
	}
	given, err := hex.DecodeString(r.Header.Get("X-Service-Signature"))
	mac := hmac.New(sha256.New, s.Secret)
	mac.Write(body)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return nil, http.StatusForbidden
	}
	return body, http.StatusOK
}

func (s *Server) record(batch [16]byte, index int, raw []byte) kafka.Record {
	return kafka.Record{
		Key: kafka.NewBytes([]byte(s.Project)), Value: kafka.NewBytes(raw), Time: time.Now(),
		Headers: []kafka.Header{
			{Key: "batch", Value: batch[:]},
			{Key: "index", Value: fmt.Append(nil, index)},
		},
	}
}

func (s *Server) produce(r *http.Request, records map[string][]kafka.Record) error {
	failed := make(chan error, len(records))
	partition := int(s.next.Add(1)) % s.Partitions
	for topic, list := range records {
		go func() {
			res, err := s.client.Produce(r.Context(), &kafka.ProduceRequest{
				Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(list...),
			})
			if err == nil {
				err = res.Error
			}
			failed <- err
		}()
	}
	var err error
	for range records {
		err = errors.Join(err, <-failed)
	}
	return err
}

// check reads one event and says why it is refused.
func check(raw []byte) (schemas.Type, error) {
	var e struct {
		Type *string                    `json:"type"`
		TS   *string                    `json:"ts"`
		Data map[string]json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return 0, errors.New("event: must be an object")
	}
	if e.Type == nil {
		return 0, errors.New("type: required")
	}
	t, ok := schemas.ParseType(*e.Type)
	if !ok {
		return 0, fmt.Errorf("type: unknown value %q", *e.Type)
	}
	if e.TS == nil {
		return t, errors.New("ts: required")
	}
	ts, err := time.Parse(time.RFC3339Nano, *e.TS)
	if _, offset := ts.Zone(); err != nil || offset != 0 || ts.Year() < 1970 || ts.Year() > 2200 {
		return t, errors.New("ts: must be an ISO 8601 timestamp in UTC")
	}
	if e.Data == nil {
		return t, errors.New("data: required")
	}
	return t, checkData(schemas.DefinitionOf(t), e.Data)
}

func checkData(d schemas.Definition, data map[string]json.RawMessage) error {
	present := func(name string) bool {
		raw, ok := data[name]
		return ok && string(raw) != "null"
	}
	for _, f := range d.Fields {
		switch {
		case !present(f.Name) && f.Required:
			return fmt.Errorf("data.%s: required", f.Name)
		case present(f.Name) && !fits(f, data[f.Name]):
			return fmt.Errorf("data.%s: must be %s", f.Name, f.Kind)
		}
	}
	for i, name := range d.AnyOf {
		if present(name) {
			break
		}
		if i == len(d.AnyOf)-1 {
			return fmt.Errorf("data.%s: required", d.AnyOf[0])
		}
	}
	return nil
}

func fits(f schemas.Field, raw []byte) bool {
	switch f.Kind {
	case schemas.Integer:
		var n int64
		return json.Unmarshal(raw, &n) == nil && n >= f.Min && n <= f.Max
	case schemas.Number:
		var n float64
		return json.Unmarshal(raw, &n) == nil
	case schemas.Amount:
		_, err := schemas.ParseDecimal(raw)
		return err == nil
	case schemas.Boolean:
		var b bool
		return json.Unmarshal(raw, &b) == nil
	case schemas.Object:
		var o map[string]json.RawMessage
		return json.Unmarshal(raw, &o) == nil
	default:
		var s string
		return json.Unmarshal(raw, &s) == nil
	}
}
