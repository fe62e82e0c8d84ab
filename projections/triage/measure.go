package triage

import (
	"bytes"
	"encoding/json"

	"weir/eventlog"
)

// decided is 1 for a decision about an error group and 0 for everything else that
// weir.control holds, without the fold.
func decided(r *eventlog.Record) int64 {
	if !bytes.Contains(r.Value, []byte(kindPrefix)) {
		return 0
	}
	var event map[string]json.RawMessage
	var kind string
	if json.Unmarshal(r.Value, &event) != nil || json.Unmarshal(event["kind"], &kind) != nil || len(kind) < len(kindPrefix) || kind[:len(kindPrefix)] != kindPrefix {
		return 0
	}
	return 1
}
