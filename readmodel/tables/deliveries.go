package tables

// Deliveries is one row per delivery once merged. Read it with GROUP BY
// project_id, delivery_id.
//
//   - delivery_id: our delivery's id, or "evt_" + the event id in hex for an
//     inbound webhook event, which is a delivery of its own.
//   - attempt_count: attempts known; 0 while only pending.
//   - created_at: the earliest ts of any of its events.
//   - first_attempt_at, last_attempt_at: NULL while there is no attempt.
//   - latest: the state after the highest attempt (then latest ts, event_id):
//     status is the delivery's status, status_code the last HTTP status or 0.
//
// Sort key: lists read one project's deliveries and group them, detail reads
// one; both are prefixes. No partitions, so that attempts days apart merge.
func Deliveries() Table {
	return Table{
		Name:   "deliveries",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"delivery_id", "String", ""},
			{"attempt_count", "SimpleAggregateFunction(sum, UInt64)", ""},
			{"created_at", "SimpleAggregateFunction(min, " + eventTime + ")", ""},
			{"first_attempt_at", "SimpleAggregateFunction(min, Nullable(" + eventTime + "))", ""},
			{"last_attempt_at", "SimpleAggregateFunction(max, Nullable(" + eventTime + "))", ""},
			{"latest", "SimpleAggregateFunction(max, Tuple(number UInt32, ts " + eventTime + ", event_id FixedString(16), status String, status_code Int32, endpoint_id String, destination String, url String, event_type String))", ""},
		},
		OrderBy: []string{"project_id", "delivery_id"},
	}
}

// DeliveryAttempts is one row per attempt.
//
//   - status: succeeded or failed; failure: its code, "" when it succeeded.
//   - status_code: 0 when no response came. duration_ms: milliseconds.
//   - request_headers, response_headers: JSON objects, "" when not known.
//   - payload: the body delivered to an internal endpoint, a JSON object; else "".
//   - event_ids: what was delivered, JSON array, "" when not known.
//
// Sort key: read for one delivery, in the order of the attempts.
func DeliveryAttempts() Table {
	return Table{
		Name:   "delivery_attempts",
		Engine: Plain,
		Columns: []Column{
			{"project_id", "String", ""},
			{"delivery_id", "String", ""},
			{"number", "UInt32", ""},
			{"started_at", eventTime, timeCodec},
			{"event_id", "FixedString(16)", ""},
			{"received_at", receivedTime, timeCodec},
			{"status", "LowCardinality(String)", ""},
			{"status_code", "Int32", ""},
			{"failure", "LowCardinality(String)", ""},
			{"duration_ms", "Float64", ""},
			{"endpoint_id", "String", ""},
			{"endpoint_version", "UInt32", ""},
			{"key_id", "String", ""},
			{"destination", "String", ""},
			{"url", "String", ""},
			{"event_type", "String", ""},
			{"event_ids", "String", ""},
			{"request_headers", "String", "ZSTD(1)"},
			{"response_headers", "String", "ZSTD(1)"},
			{"response_body", "String", "ZSTD(1)"},
			{"payload", "String", "ZSTD(1)"},
			{"partition", "UInt32", ""},
			{"offset", "Int64", ""},
		},
		OrderBy:     []string{"project_id", "delivery_id", "number", "started_at", "event_id"},
		PartitionBy: byDay,
	}
}
