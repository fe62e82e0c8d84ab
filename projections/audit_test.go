package projections

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"weir/projections/foldtest"
)

// Untouched tables give no finding; a missing row, a repeated one, and one of
// each are found.
func TestAudit(t *testing.T) {
	const partitions = 2
	e := foldtest.Start(t, partitions)
	var f feeder
	for range 3 {
		f.add(t, e, partitions)
	}
	start(t, newProjector(t, e, partitions))
	waitFolded(t, e, tallyProjection(), f.ends...)
	audited := Audited{Projection: tallyProjection(), Table: linesTable(), Topic: "'" + topicUnderTest + "'"}
	a := NewAuditor(e.Log, e.Conn, []Audited{audited}, testLogger(t), prometheus.NewRegistry())
	audit := func() []Finding {
		t.Helper()
		if err := a.audit(t.Context(), audited); err != nil {
			t.Fatal(err)
		}
		return a.Findings("tally")
	}
	if found := audit(); len(found) > 0 {
		t.Fatalf("findings in untouched tables: %+v", found)
	}
	run := func(sql string) {
		t.Helper()
		if err := e.Conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("DELETE FROM lines WHERE partition = 1 AND offset = 7")
	if found := audit(); len(found) != 1 || found[0].Partition != 1 || found[0].Missing != 1 || found[0].Repeated != 0 {
		t.Errorf("a row was deleted: %+v", found)
	}
	run("INSERT INTO lines SETTINGS log_comment = 'tally:1' SELECT * FROM lines WHERE partition = 1 AND offset = 8")
	if found := audit(); len(found) != 1 || found[0].Missing != 1 || found[0].Repeated != 1 {
		t.Errorf("one row is missing and one is there twice: %+v", found)
	}
	run("INSERT INTO lines SETTINGS log_comment = 'tally:1' SELECT * FROM lines WHERE partition = 1 AND offset = 9")
	if found := audit(); len(found) != 1 || found[0].Repeated != 1 || found[0].Missing != 0 {
		t.Errorf("one row too many: %+v", found)
	}
}
