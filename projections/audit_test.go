package projections

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
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
	audited := tallyProjection()
	a := NewAuditor(e.Log, e.Conn, []Projection{audited}, testLogger(t), prometheus.NewRegistry())
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
	run("INSERT INTO tally SETTINGS log_comment = 'tally:1' VALUES ('k', 5, 0)")
	if found := audit(); len(found) != 2 || found[1].Table != "tally" || found[1].Repeated != 5 || found[1].Partition != -1 {
		t.Errorf("a sum that is too high: %+v", found)
	}
	run("DELETE FROM tally WHERE 1")
	if found := audit(); len(found) != 2 || found[1].Missing != int64(partitions*3*99) {
		t.Errorf("all sums are gone: %+v", found)
	}
}

// Measures that pass records over read the log, each audit on from the last, and anew when what is
// in quarantine has changed.
func TestAuditReadsOn(t *testing.T) {
	e := foldtest.Start(t, 1)
	var f feeder
	f.add(t, e, 1)
	start(t, newProjector(t, e, 1))
	waitFolded(t, e, tallyProjection(), f.ends...)
	audited := tallyProjection()
	read := 0
	for i := range audited.Measures {
		audited.Measures[i].Of = func(*eventlog.Record) int64 { read++; return 1 }
	}
	a := NewAuditor(e.Log, e.Conn, []Projection{audited}, testLogger(t), nil)
	audit := func(want int) {
		t.Helper()
		read = 0
		if err := a.audit(t.Context(), audited); err != nil {
			t.Fatal(err)
		}
		if found := a.Findings("tally"); len(found) > 0 {
			t.Errorf("findings in untouched tables: %+v", found)
		}
		if read != want {
			t.Errorf("%d records were counted instead of %d", read, want)
		}
	}
	audit(2 * 99)
	audit(0)
	f.add(t, e, 1)
	waitFolded(t, e, tallyProjection(), f.ends...)
	audit(2 * 99)
	for _, sql := range []string{
		"INSERT INTO quarantine_retries SELECT 'tally', 1, topic, partition, offset, (1, 5, now64(3), '') FROM quarantine WHERE offset = 99",
		"INSERT INTO lines SETTINGS log_comment = 'tally:1' SELECT 0, 99, 0, now64(3), 'k'",
		"INSERT INTO tally SETTINGS log_comment = 'tally:1' VALUES ('k', 1, 0)",
	} {
		if err := e.Conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	audit(2 * 199)
}
