package baseline

import (
	"encoding/json"
	"testing"

	"weir/internal/load"
	"weir/schemas"
)

// The baseline takes and refuses the same events as the door, for the same reasons,
// or the comparison would be worth nothing.
func TestSameVerdicts(t *testing.T) {
	bodies := load.Bodies(2, 130, load.Mixed, 3)
	bodies = append(bodies, []byte(`{"events":[
		{"type":"audit","ts":"2026-11-21T12:00:00Z","data":{"action":"x"}},
		{"type":"audit","ts":"2026-11-21T12:00:00Z","data":{"actor":"a","action":"x","statusCode":"200"}},
		{"type":"foo","ts":"2026-11-21T12:00:00Z","data":{}},
		{"ts":"2026-11-21T12:00:00Z","data":{}},
		{"type":"log","data":{"message":"x"}},
		{"type":"log","ts":"yesterday","data":{"message":"x"}},
		{"type":"log","ts":"2026-11-21T12:00:00+01:00","data":{"message":"x"}},
		{"type":"log","ts":"2026-11-21T12:00:00Z"},
		{"type":"log","ts":"2026-11-21T12:00:00Z","data":{"message":1}},
		{"type":"cost","ts":"2026-11-21T12:00:00Z","data":{"service":"s","amount":"1","currency":"EUR"}},
		{"type":"error","ts":"2026-11-21T12:00:00Z","data":{"release":"1"}},
		{"type":"feature_flag","ts":"2026-11-21T12:00:00Z","data":{"key":"k","enabled":"yes"}}]}`))
	for _, body := range bodies {
		var ours schemas.Batch
		if err := ours.Parse(body); err != nil {
			t.Fatal(err)
		}
		var batch struct{ Events []json.RawMessage }
		if err := json.Unmarshal(body, &batch); err != nil {
			t.Fatal(err)
		}
		rejected := map[int]string{}
		for _, r := range ours.Rejected {
			rejected[r.Index] = r.Reason
		}
		for i, raw := range batch.Events {
			reason := ""
			if _, err := check(raw); err != nil {
				reason = err.Error()
			}
			if reason != rejected[i] {
				t.Errorf("event %d %s: the baseline says %q, the door %q", i, raw, reason, rejected[i])
			}
		}
	}
}
