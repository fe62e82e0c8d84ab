package rejections

import (
	"encoding/json"

	"weir/eventlog"
)

// refused is how many refused events a record tells of, without the fold.
func refused(r *eventlog.Record) int64 {
	var t struct {
		Count int64 `json:"count"`
	}
	if json.Unmarshal(r.Value, &t) != nil {
		return 0
	}
	return t.Count
}
