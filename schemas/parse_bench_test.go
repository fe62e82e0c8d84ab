package schemas

import (
	"encoding/json"
	"testing"
	"time"
)

// perEvent reports the time of one event.
func perEvent(b *testing.B, events int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

// benchBodies are the bodies that the scanner and its baseline are run on.
var benchBodies = []struct {
	name string
	body []byte
}{
	{"log", logBody(1000)},
	{"mixed", mixedBody(1000)},
}

// BenchmarkParse is the hot path: a thousand events of 230 to 340 bytes.
func BenchmarkParse(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			var batch Batch
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				if err := batch.Parse(c.body); err != nil || len(batch.Events) != 1000 {
					b.Fatal(err, batch.Rejected)
				}
			}
			perEvent(b, 1000)
		})
	}
}

// BenchmarkEncodingJSON is what Parse replaces: the same checks on
// encoding/json, but for duplicate names and surrogates, which it cannot see.
func BenchmarkEncodingJSON(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				if n := plainParse(b, c.body); n != 1000 {
					b.Fatal(n, "events were accepted")
				}
			}
			perEvent(b, 1000)
		})
	}
}

func plainParse(b *testing.B, body []byte) (accepted int) {
	var batch struct {
		Events []struct {
			Type string                     `json:"type"`
			TS   string                     `json:"ts"`
			Data map[string]json.RawMessage `json:"data"`
		} `json:"events"`
	}
	if err := json.Unmarshal(body, &batch); err != nil {
		b.Fatal(err)
	}
	for _, e := range batch.Events {
		kind, known := ParseType(e.Type)
		_, err := time.Parse(time.RFC3339Nano, e.TS)
		if known && err == nil && plainData(&rules[kind], e.Data) {
			accepted++
		}
	}
	return accepted
}

// plainData checks the fields with the scanner's own checks, so that the
// difference is what encoding/json costs.
func plainData(r *rule, data map[string]json.RawMessage) bool {
	anyOf := r.anyOf == 0
	for i := range r.fields {
		f := &r.fields[i]
		v := data[f.Name]
		if absent(v) {
			if f.Required {
				return false
			}
			continue
		}
		if f.check(v) != "" {
			return false
		}
		anyOf = anyOf || r.anyOf&(1<<i) != 0
	}
	return anyOf
}

// BenchmarkRefused is a batch of nothing but duplicates, whose reasons are
// written out.
func BenchmarkRefused(b *testing.B) {
	event := `{"type":"audit","ts":"` + sampleTime + `","data":{"actor":"a","action":"b","metadata":{"k":1,"k":2}}}`
	events := make([]string, 1000)
	for i := range events {
		events[i] = event
	}
	body := bodyOf(events...)
	var batch Batch
	b.ReportAllocs()
	for b.Loop() {
		if err := batch.Parse(body); err != nil || len(batch.Rejected) != 1000 {
			b.Fatal(err)
		}
	}
	perEvent(b, 1000)
}

// BenchmarkOpen is what a fold pays to read an event's envelope and walk its
// data.
func BenchmarkOpen(b *testing.B) {
	raw := []byte(sampleEvent(Log))
	b.ReportAllocs()
	members := 0
	for b.Loop() {
		e, err := Open(raw)
		if err != nil {
			b.Fatal(err)
		}
		_ = Members(e.Data, func(_, _ []byte) bool { members++; return true })
	}
}

func BenchmarkParseDecimal(b *testing.B) {
	value := []byte("1234.567890123")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseDecimal(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseTime(b *testing.B) {
	text := []byte(sampleTime)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseTime(text); err != nil {
			b.Fatal(err)
		}
	}
}
