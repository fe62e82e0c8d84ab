package tables

// PerformanceValues holds every measurement: one row per performance event, as
// far as a series needs it.
//
//   - project_id: LowCardinality, because comparing a text with each of millions
//     of rows costs as much as the percentiles themselves.
//   - unit, service: "" when the event names none.
//   - partition, offset: where the record is in its topic, which tells equal
//     measurements apart.
//
// Sort key: a series reads one project and a range of ts, of one metric or of
// all. The few metrics of a project in front make each a run of rows in the order
// of ts, so that a range of one is found in the index, and names take no space.
func PerformanceValues() Table {
	return Table{
		Name:   "performance_values",
		Engine: Plain,
		Columns: []Column{
			{"project_id", "LowCardinality(String)", ""},
			{"metric", "LowCardinality(String)", ""},
			{"unit", "LowCardinality(String)", ""},
			{"service", "LowCardinality(String)", ""},
			{"ts", eventTime, timeCodec},
			{"value", "Float64", ""},
			{"partition", "UInt32", ""},
			{"offset", "Int64", timeCodec},
		},
		OrderBy: []string{"project_id", "metric", "unit", "ts", "partition", "offset"},
	}
}
