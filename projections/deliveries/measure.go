package deliveries

import (
	"encoding/json"

	"weir/eventlog"
)

// attempted counts the attempt that a record tells of, without the fold: what the
// webhook lane appends may be only a state, what anybody else sends is one attempt.
func attempted(r *eventlog.Record) int64 {
	if !fromLane(r) {
		return 1
	}
	var event struct {
		Data struct {
			Attempt int64 `json:"attempt"`
			Status  any   `json:"status"`
		} `json:"data"`
	}
	if json.Unmarshal(r.Value, &event) != nil || event.Data.Attempt < 1 {
		return 0
	}
	if status, ok := event.Data.Status.(string); !ok || status == "" {
		return 0
	}
	return 1
}
