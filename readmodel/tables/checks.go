package tables

// Steps of a retry, in their order: what is written later wins (see QuarantineRetries).
const (
	RetryAsked   = 1 // somebody wants the record folded again
	RetryPlanned = 2 // its fold takes it now; its rows are being inserted
	RetryRefused = 3 // its fold still does not take it
	RetryDoubt   = 4 // its inserts were cut short too long ago to be repeated safely
	RetryDone    = 5 // its rows are in the tables: it is no longer in quarantine
)

// QuarantineRetries says how far the retry of a record in quarantine is: one row
// per projection, generation and record once merged. Rows are only ever added,
// and adding one twice changes nothing.
//
//   - latest: attempt counts how often it was asked for; step is one of the above;
//     at is when; reason is why it was refused or is in doubt, "" else.
//
// Sort key: that of Quarantine, with which it is read.
func QuarantineRetries() Table {
	return Table{
		Name:   "quarantine_retries",
		Engine: Aggregating,
		Columns: []Column{
			{"projection", "LowCardinality(String)", ""},
			{"generation", "UInt32", ""},
			{"topic", "LowCardinality(String)", ""},
			{"partition", "UInt32", ""},
			{"offset", "Int64", ""},
			{"latest", "SimpleAggregateFunction(max, Tuple(attempt UInt32, step UInt8, at " + receivedTime + ", reason String))", ""},
		},
		Shared:  true,
		OrderBy: []string{"projection", "generation", "topic", "partition", "offset"},
	}
}

// Checks holds what verifications and proofs have found, and how far the ones
// under way are: one row per check once merged, so that every process can tell.
//
//   - kind: what was checked, verify or prove; name: of what, a projection or a project.
//   - id: begins with the time it began, so the greatest is the newest.
//   - latest: state is running, done or failed; body is the answer of the API, JSON.
//
// Sort key: the newest one of a name is read.
func Checks() Table {
	return Table{
		Name:   "checks",
		Engine: Aggregating,
		Columns: []Column{
			{"kind", "LowCardinality(String)", ""},
			{"name", "String", ""},
			{"id", "String", ""},
			{"latest", "SimpleAggregateFunction(max, Tuple(at " + receivedTime + ", state String, body String))", "ZSTD(1)"},
		},
		Shared:  true,
		OrderBy: []string{"kind", "name", "id"},
	}
}
