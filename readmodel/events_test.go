package readmodel

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"
)

func TestEventsNewestFirst(t *testing.T) {
	p := newPortal(t)
	odd := `{ "message" : "caf\u00e9 <b>&</b>",  "big": 12345678901234567890123, "f":1.10, "e":1E2 }`
	p.events(row{data: odd}, row{kind: "error", data: `{"name":"E"}`})
	resp, body := p.request("one", "/api/events")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	if !bytes.Contains(body, []byte(`"data":`+odd+`}`)) {
		t.Errorf("data did not go out as sent: %s", body)
	}
	got := items(decode(t, body))
	if len(got) != 2 || got[0]["type"] != "error" || got[1]["type"] != "log" {
		t.Fatalf("not newest first: %s", body)
	}
	if got[1]["ts"] != "2026-11-20T12:00:00Z" || got[1]["event_id"] != "00000000000000000000000000000000" {
		t.Errorf("%v", got[1])
	}
	if v, ok := decode(t, body)["next_cursor"]; !ok || v != nil {
		t.Errorf("next_cursor is %v, want null", v)
	}
}

func TestEventsFilters(t *testing.T) {
	p := newPortal(t)
	data := []string{
		`{"level":"error","message":"Connection refused","statusCode":500,"fields":{"user":7}}`,
		`{"level":"info","message":"all \"good\" here","statusCode":204,"fields":{"user":"7"}}`,
		`{"level":"Error","message":"caf\u00e9 closed","statusCode":"503","path":"a/b"}`,
		`{"level":null,"message":"CAFÉ","statusCode":500.0,"path":"a\/b","n":9007199254740993}`,
		`{"ok":true,"a.b":{"c d":1},"n":9007199254740992,"huge":12345678901234567890123456789,"tags":["x","y"]}`,
		`{"message":"line one\nline two","v":"1.10","w":1.10,"neg":-3,"u":18446744073709551615}`,
		`{"message":"odd","x":1.5e3,"y":2.5,"z":"h\u0065llo"}`,
	}
	rows := make([]row, len(data))
	for i := range data {
		rows[i].data = data[i]
	}
	rows[5].kind = "deploy"
	p.events(rows...)
	tests := []struct {
		name  string
		query url.Values
		want  []int
	}{
		{"none", url.Values{}, []int{0, 1, 2, 3, 4, 5, 6}},
		{"type", url.Values{"type": {"deploy"}}, []int{5}},
		{"types", url.Values{"type": {"deploy,log"}}, []int{0, 1, 2, 3, 4, 5, 6}},
		{"from", url.Values{"from": {"2026-11-20T12:00:04Z"}}, []int{4, 5, 6}},
		{"to", url.Values{"to": {"2026-11-20T12:00:01Z"}}, []int{0}},
		{"zone", url.Values{"to": {"2026-11-20T13:00:01+01:00"}}, []int{0}},
		{"q", url.Values{"q": {"REFUSED"}}, []int{0}},
		{"q with quotes", url.Values{"q": {`"good"`}}, []int{1}},
		{"q beyond ASCII, escaped and not, any case", url.Values{"q": {"café"}}, []int{2, 3}},
		{"q beyond ASCII, upper", url.Values{"q": {"CAFÉ"}}, []int{2, 3}},
		{"q with a slash", url.Values{"q": {"a/b"}}, []int{2, 3}},
		{"q with a line end", url.Values{"q": {"one\nline"}}, []int{5}},
		{"q by structure", url.Values{"q": {`"level":"info"`}}, []int{1}},
		{"text", url.Values{"where": {"level=error"}}, []int{0}},
		{"blanks", url.Values{"where": {" level = error "}}, []int{0}},
		{"not", url.Values{"where": {"level!=error"}}, []int{1, 2, 3, 4, 5, 6}},
		{"number", url.Values{"where": {"statusCode=500"}}, []int{0, 3}},
		{"number or text", url.Values{"where": {"fields.user=7"}}, []int{0, 1}},
		{"text only", url.Values{"where": {`fields.user="7"`}}, []int{1}},
		{"at least", url.Values{"where": {"statusCode>=500"}}, []int{0, 3}},
		{"less", url.Values{"where": {"statusCode<500"}}, []int{1}},
		{"greater text", url.Values{"where": {"statusCode>=\"503\""}}, []int{2}},
		{"exact beyond floats", url.Values{"where": {"n=9007199254740993"}}, []int{3}},
		{"exact beyond floats, ordered", url.Values{"where": {"n>9007199254740992"}}, []int{3}},
		{"unsigned", url.Values{"where": {"u=18446744073709551615"}}, []int{5}},
		{"beside a huge number", url.Values{"where": {"ok=true"}}, []int{4}},
		{"huge number", url.Values{"where": {"huge>1e20"}}, []int{4}},
		{"negative", url.Values{"where": {"neg<=-3"}}, []int{5}},
		{"decimal", url.Values{"where": {"w=1.1"}}, []int{5}},
		{"decimal text stays text", url.Values{"where": {"v=1.1"}}, nil},
		{"holds", url.Values{"where": {"message~conn"}}, []int{0}},
		{"holds, decoded", url.Values{"where": {"message~CAFÉ"}}, []int{2, 3}},
		{"holds in an array", url.Values{"where": {"tags~x"}}, []int{4}},
		{"exists", url.Values{"where": {"level exists"}}, []int{0, 1, 2}},
		{"missing", url.Values{"where": {"level !exists"}}, []int{3, 4, 5, 6}},
		{"quoted names", url.Values{"where": {`"a.b"."c d"=1`}}, []int{4}},
		{"all must hold", url.Values{"where": {"statusCode=500", "level=error"}}, []int{0}},
		{"number written with an exponent", url.Values{"where": {"x=1500"}}, []int{6}},
		{"number with more zeros", url.Values{"where": {"y=2.500"}}, []int{6}},
		{"text written with escapes", url.Values{"where": {"z=hello"}}, []int{6}},
		{"held text written with escapes", url.Values{"where": {"z~HELL"}}, []int{6}},
		{"everything", url.Values{"where": {"statusCode=500"}, "q": {"connection"}, "type": {"log"}, "from": {"2026-11-20T00:00:00Z"}}, []int{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &portal{t, p.conn, p.server, p.reader, p.waits}
			var got []int
			for _, item := range items(p.get("one", "/api/events?"+tt.query.Encode())) {
				at, _ := time.Parse(time.RFC3339Nano, item["ts"].(string))
				got = append(got, int(at.Sub(noon)/time.Second))
			}
			slices.Reverse(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.query.Encode(), got, tt.want)
			}
			total := 0
			for _, b := range items(p.get("one", "/api/events/histogram?"+tt.query.Encode())) {
				var n int
				fmt.Sscan(fmt.Sprint(b["count"]), &n)
				total += n
			}
			if total != len(tt.want) {
				t.Errorf("%s: the histogram counts %d, want %d", tt.query.Encode(), total, len(tt.want))
			}
		})
	}
}
