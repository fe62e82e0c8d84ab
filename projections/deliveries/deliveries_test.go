package deliveries

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"weir/eventlog"
	"weir/internal/clickhouse/chtest"
	"weir/projections"
	"weir/projections/foldtest"
	"weir/readmodel/tables"
	"weir/schemas"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

var laneHeaders = []eventlog.Header{{Key: OriginHeader, Value: []byte(OriginLane)}}

func webhook(ts, data string) string { return foldtest.Event(schemas.Webhook, ts, data) }

// ours are the events of one delivery: made, failed, succeeded.
var ours = []string{
	webhook("2026-11-21T09:00:00Z", `{"destination":"https://x/h","url":"https://x/h","deliveryId":"dlv_1","deliveryStatus":"pending","endpointId":"ep_1","eventType":"deploy.done"}`),
	webhook("2026-11-21T09:00:02Z", `{"destination":"https://x/h","url":"https://x/h","statusCode":500,"attempt":1,"deliveryId":"dlv_1","deliveryStatus":"retrying","status":"failed","failure":"status","startedAt":"2026-11-21T09:00:01Z","durationMs":12.5,"endpointId":"ep_1","endpointVersion":3,"keyId":"whk_1","eventType":"deploy.done","eventIds":["e1"],"requestHeaders":{"webhook-id":"dlv_1"},"responseHeaders":{},"responseBody":"oh \"no\""}`),
	webhook("2026-11-21T09:00:07Z", `{"destination":"https://x/h","url":"https://x/h","statusCode":204,"attempt":2,"deliveryId":"dlv_1","deliveryStatus":"succeeded","status":"succeeded","startedAt":"2026-11-21T09:00:06Z","endpointId":"ep_1","eventType":"deploy.done"}`),
}

func folded(t testing.TB, headers []eventlog.Header, events ...string) (deliveries, attempts []map[string]any) {
	t.Helper()
	f := Projection().New()
	f.Reset()
	for _, r := range foldtest.Records(schemas.Webhook, "prj_1", 0, events...) {
		r.Headers = headers
		if err := f.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	blocks := f.Blocks()
	return foldtest.Rows(tables.Deliveries().ColumnNames(), blocks[0].Columns), foldtest.Rows(tables.DeliveryAttempts().ColumnNames(), blocks[1].Columns)
}

func TestInbound(t *testing.T) {
	deliveries, attempts := folded(t, nil,
		webhook("2026-11-21T09:00:00Z", `{"destination":"slack","url":"https://h/1","statusCode":200,"attempt":3}`),
		webhook("2026-11-21T09:00:00Z", `{"destination":"slack","statusCode":404,"attempt":1}`),
		webhook("2026-11-21T09:00:00Z", `{"destination":"slack","deliveryId":"dlv_1","deliveryStatus":"succeeded","durationMs":"fast"}`),
	)
	var got []string
	for i, d := range deliveries {
		latest := d["latest"].([]any)
		got = append(got, fmt.Sprint(d["attempt_count"], " ", latest[0], " ", latest[3], " ", latest[4], " ", foldtest.Row(attempts[i], "status", "failure", "number")))
		if id := d["delivery_id"].(string); len(id) != len("evt_")+32 || id != attempts[i]["delivery_id"] {
			t.Errorf("delivery id is %q, its attempt's %q", id, attempts[i]["delivery_id"])
		}
	}
	foldtest.Same(t, "inbound", got, []string{
		"1 3 succeeded 200 succeeded |  | 3",
		"1 1 exhausted 404 failed | status | 1",
		"1 0 exhausted 0 failed | no_response | 0",
	})
}

func TestOurs(t *testing.T) {
	deliveries, attempts := folded(t, laneHeaders, ours...)
	if len(deliveries) != 1 || len(attempts) != 2 {
		t.Fatalf("%d deliveries and %d attempts instead of 1 and 2", len(deliveries), len(attempts))
	}
	d := deliveries[0]
	latest := d["latest"].([]any)
	got := fmt.Sprint(d["delivery_id"], " ", d["attempt_count"], " ", d["created_at"].(time.Time).Format(time.TimeOnly), " ",
		d["first_attempt_at"].(*time.Time).Format(time.TimeOnly), " ", d["last_attempt_at"].(*time.Time).Format(time.TimeOnly), " ", latest[3], " ", latest[4])
	if want := "dlv_1 2 09:00:00 09:00:01 09:00:06 succeeded 204"; got != want {
		t.Errorf("delivery is %q instead of %q", got, want)
	}
	row := foldtest.Row(attempts[0], "number", "status", "status_code", "failure", "duration_ms", "endpoint_version", "key_id", "event_ids", "request_headers", "response_body")
	if want := `1 | failed | 500 | status | 12.5 | 3 | whk_1 | ["e1"] | {"webhook-id":"dlv_1"} | oh "no"`; row != want {
		t.Errorf("attempt is %q instead of %q", row, want)
	}
}

// The feed shows what the lane delivered; nobody writes into it from outside.
func TestPayload(t *testing.T) {
	event := webhook("2026-11-21T09:00:00Z", `{"destination":"internal","deliveryId":"dlv_1","deliveryStatus":"succeeded","status":"succeeded","attempt":1,"endpointId":"ep_1","eventType":"x","payload":{"type":"x","data":[1]}}`)
	for _, c := range []struct {
		headers []eventlog.Header
		want    string
	}{{laneHeaders, `{"type":"x","data":[1]}`}, {nil, ""}} {
		if _, attempts := folded(t, c.headers, event); attempts[0]["payload"] != c.want {
			t.Errorf("payload is %q instead of %q", attempts[0]["payload"], c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	f := Projection().New()
	f.Reset()
	for name, c := range map[string]struct {
		data    string
		headers []eventlog.Header
	}{
		"status code as text":      {`{"destination":"x","statusCode":"200"}`, nil},
		"negative attempt":         {`{"destination":"x","attempt":-1}`, nil},
		"ours without an id":       {`{"destination":"x","deliveryStatus":"pending"}`, laneHeaders},
		"ours in an unknown state": {`{"destination":"x","deliveryId":"d","deliveryStatus":"lost"}`, laneHeaders},
		"ours with odd status":     {`{"destination":"x","deliveryId":"d","deliveryStatus":"retrying","attempt":1,"status":"meh"}`, laneHeaders},
	} {
		r := foldtest.Record(schemas.Webhook, "prj_1", 0, webhook("2026-11-21T09:00:00Z", c.data))
		r.Headers = c.headers
		if err := f.Add(&r); err == nil {
			t.Errorf("%s: folded", name)
		}
	}
	for _, b := range f.Blocks() {
		if b.Rows != 0 {
			t.Errorf("refused records left %d rows in %s", b.Rows, b.Table.Name)
		}
	}
}

// On the engines, every order of the same events, one block each, gives the same
// delivery.
func TestEnginesAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		e := foldtest.Start(t, 1)
		var end eventlog.Position
		for _, i := range order {
			set := eventlog.Set{Key: []byte("prj_1"), Time: foldtest.Received, Values: [][]byte{[]byte(ours[i])}, Headers: laneHeaders, Batch: [16]byte{byte(i), 1}}
			first, err := e.Log.Append(t.Context(), eventlog.EventsTopic(schemas.Webhook), 0, set)
			if err != nil {
				t.Fatal(err)
			}
			end = eventlog.Position{Topic: eventlog.EventsTopic(schemas.Webhook), Next: first + 1}
		}
		p, err := projections.New(projections.Config{
			Log: e.Log, ClickHouse: e.Conn, Blocks: e.Blocks, Projections: []projections.Projection{Projection()}, BlockRecords: 1, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		foldtest.Until(t, p, projections.NewMonitor(e.Log, e.Conn, []projections.Projection{Projection()}, nil, nil), Name, end)
		got := foldtest.Table(t, e.Conn, `SELECT delivery_id, toString(sum(attempt_count)), toString(min(created_at)), toString(min(first_attempt_at)), toString(max(last_attempt_at)),
			max(latest).status, toString(max(latest).status_code), max(latest).endpoint_id FROM deliveries GROUP BY project_id, delivery_id`)
		foldtest.Same(t, fmt.Sprint("order ", order), got, []string{
			"dlv_1 | 2 | 2026-11-21 09:00:00.000000000 | 2026-11-21 09:00:01.000000000 | 2026-11-21 09:00:06.000000000 | succeeded | 204 | ep_1",
		})
		var attempts uint64
		if err := e.Conn.QueryRow(context.Background(), "SELECT count() FROM delivery_attempts").Scan(&attempts); err != nil || attempts != 2 {
			t.Errorf("%d attempts, error %v", attempts, err)
		}
	}
}

func BenchmarkFold(b *testing.B) {
	events := make([]string, 10_000)
	for i := range events {
		events[i] = webhook("2026-11-21T09:00:00Z", fmt.Sprintf(`{"destination":"slack","url":"https://hooks.example.com/services/%d","statusCode":200,"attempt":1,"note":"delivered to the channel of the on-call team, with a body of some length"}`, i))
	}
	records := foldtest.Records(schemas.Webhook, "prj_1", 0, events...)
	foldtest.Benchmark(b, Projection().New(), records)
}
