package tables

// Rejections counts what the door refused, per project, hour, type and reason.
// Read it with sum(number), max(latest) GROUP BY project_id, type, reason.
//
//   - hour: of the received time, by the gateway's clock.
//   - type: "" when the event's type was not known.
//   - latest: the newest sample, its long values cut.
//
// Sort key: one project over a range of hours, then grouped. No partitions: a
// gateway tells at most a hundred reasons per project and hour apart.
func Rejections() Table {
	return Table{
		Name:   "rejections",
		Engine: Aggregating,
		Columns: []Column{
			{"project_id", "String", ""},
			{"hour", "DateTime('UTC')", ""},
			{"type", "LowCardinality(String)", ""},
			{"reason", "String", ""},
			{"number", "SimpleAggregateFunction(sum, UInt64)", ""},
			{"latest", "SimpleAggregateFunction(max, Tuple(at " + receivedTime + ", sample String))", "ZSTD(1)"},
		},
		OrderBy: []string{"project_id", "hour", "type", "reason"},
	}
}
