package triage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
)

func record(offset int64, value string) *eventlog.Record {
	return &eventlog.Record{Topic: eventlog.ControlTopic, Offset: offset, Time: foldtest.Received, Key: []byte("prj_1"), Value: []byte(value)}
}

func control(kind, data string) string {
	return `{"v":1,"kind":"` + kind + `","at":"2026-11-21T02:33:00.5Z","by":"key:k1","project":"prj_1","data":` + data + `}`
}

var print1, print2 = strings.Repeat("a1", 16), strings.Repeat("b2", 16)

// The records are those of control/triage_test.go: what is written there is folded here.
func TestFold(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for i, value := range []string{
		control("key.created", `{"id":"k","sha256":"c2VjcmV0"}`),
		control("group.resolved", `{"fingerprint":"`+print1+`","release":"1.2.0","reason":"why"}`),
		control("group.ignored", `{"fingerprint":"`+print1+`","until":"2026-12-01T00:00:00Z","count":10}`),
		control("group.ignored", `{"fingerprint":"`+print1+`","until":"0001-01-01T00:00:00Z","count":-4}`),
		control("group.reopened", `{"fingerprint":"`+print1+`"}`),
		control("group.merged", `{"fingerprint":"`+print1+`","into":"`+print2+`"}`),
		control("group.unmerged", `{"fingerprint":"`+print1+`"}`),
		`{"kind":"project.created"`, `null`, ``,
	} {
		if err := f.Add(record(int64(i), value)); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	var got []string
	for _, row := range foldtest.Rows(tables.ErrorTriage().ColumnNames(), f.Blocks()[0].Columns) {
		got = append(got, fmt.Sprintf("%v %v %v %x %v key=%t until=%v %v into=%.2x %v", row["offset"], row["kind"], row["project_id"], row["fingerprint"],
			row["release"], row["release_key"] != "", row["until"].(time.Time).Format(time.DateOnly), row["until_count"], row["merged_into"], row["reason"]))
	}
	foldtest.Same(t, "decisions", got, []string{
		"1 resolved prj_1 " + print1 + " 1.2.0 key=true until=1970-01-01 0 into=0000 why",
		"2 ignored prj_1 " + print1 + "  key=false until=2026-12-01 10 into=0000 ",
		"3 ignored prj_1 " + print1 + "  key=false until=1970-01-01 0 into=0000 ",
		"4 reopened prj_1 " + print1 + "  key=false until=1970-01-01 0 into=0000 ",
		"5 merged prj_1 " + print1 + "  key=false until=1970-01-01 0 into=b2b2 ",
		"6 unmerged prj_1 " + print1 + "  key=false until=1970-01-01 0 into=0000 ",
	})
}

// What cannot be folded is quarantined with a reason, and stops nothing.
func TestRefused(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for value, reason := range map[string]string{
		control("group.resolved", `{"fingerprint":"zz"}`):            "32 hexadecimal",
		control("group.resolved", `{}`):                              "32 hexadecimal",
		control("group.merged", `{"fingerprint":"`+print1+`"}`):      "into",
		control("group.exploded", `{"fingerprint":"`+print1+`"}`):    "unknown kind",
		control("group.resolved", `{"fingerprint":5}`):               "decision",
		`{"v":9,"kind":"group.resolved","project":"p","data":{}}`:    "newer version",
		`{"v":1,"kind":"group.resolved","data":{"fingerprint":"a"}}`: "no project",
	} {
		if err := f.Add(record(0, value)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %s", value, err, reason)
		}
	}
	if n := f.Blocks()[0].Rows; n != 0 {
		t.Errorf("%d rows of refused records", n)
	}
}
