package readmodel

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/readmodel/tables"
)

// attempt is one attempt of a delivery, folded; number 0 is a delivery that is only owed.
type attempt struct {
	project, delivery, endpoint, status string
	number                              uint32
	code                                int32
	at                                  time.Time
}

func (p *portal) deliveries(all ...attempt) {
	p.t.Helper()
	for i := range all {
		if all[i].project == "" {
			all[i].project = "prj_one"
		}
	}
	p.insert(tables.Deliveries(), len(all), func(i int) []any {
		a := all[i]
		var at *time.Time
		if a.number > 0 {
			at = &a.at
		}
		return []any{a.project, a.delivery, uint64(min(a.number, 1)), a.at, at, at,
			[]any{a.number, a.at, raw(fingerprint(i)), a.status, a.code, a.endpoint, "crm", "https://example.test/hook", "deploy.done"}}
	})
	var tries []attempt
	for _, a := range all {
		if a.number > 0 {
			tries = append(tries, a)
		}
	}
	p.insert(tables.DeliveryAttempts(), len(tries), func(i int) []any {
		a := tries[i]
		outcome, failure := "succeeded", ""
		if a.code != 200 {
			outcome, failure = "failed", "status"
		}
		values := map[string]any{"project_id": a.project, "delivery_id": a.delivery, "number": a.number, "started_at": a.at,
			"event_id": raw(fingerprint(i)), "received_at": a.at, "status": outcome, "status_code": a.code, "failure": failure,
			"duration_ms": 12.5, "endpoint_id": a.endpoint, "endpoint_version": uint32(2), "key_id": "whk_1", "destination": "crm",
			"url": "https://example.test/hook", "event_type": "deploy.done", "event_ids": "", "request_headers": `{"webhook-id":"x"}`,
			"response_headers": "", "response_body": "no\x00", "payload": "", "partition": uint32(0), "offset": int64(i)}
		if strings.HasPrefix(a.endpoint, "ep_feed") {
			values["destination"] = "internal"
			values["payload"] = `{"type":"deploy.done","timestamp":"2026-11-21T12:00:00Z","data":{"of":"` + a.delivery + `"}}`
		}
		var row []any
		for _, c := range tables.DeliveryAttempts().ColumnNames() {
			row = append(row, values[c])
		}
		return row
	})
}

func TestDeliveries(t *testing.T) {
	p := newPortal(t)
	p.deliveries(
		attempt{delivery: "dlv_a", endpoint: "ep_1", status: "retrying", number: 1, code: 500, at: noon},
		attempt{delivery: "dlv_a", endpoint: "ep_1", status: "succeeded", number: 2, code: 200, at: noon.Add(time.Hour)},
		attempt{delivery: "dlv_b", endpoint: "ep_2", status: "pending", at: noon.Add(time.Minute)},
		attempt{delivery: "evt_c", status: "succeeded", number: 1, code: 200, at: noon.Add(-time.Minute)},
		attempt{delivery: "dlv_z", status: "pending", at: noon, project: "prj_two"},
	)
	for query, want := range map[string]string{
		"": "dlv_b dlv_a evt_c", "endpoint_id=ep_1": "dlv_a", "status=pending": "dlv_b", "status=pending,succeeded": "dlv_b dlv_a evt_c",
		"status=exhausted": "", "endpoint_id=x'--": "",
	} {
		if got := names(items(p.get("one", "/api/webhooks/deliveries?"+query)), "id"); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	d := p.get("one", "/api/webhooks/deliveries/dlv_a")
	for field, want := range map[string]string{
		"project_id": "prj_one", "endpoint_id": "ep_1", "destination": "crm", "url": "https://example.test/hook", "event_type": "deploy.done",
		"status": "succeeded", "attempt_count": "2", "last_status_code": "200",
		"first_attempt_at": "2026-11-20T12:00:00Z", "last_attempt_at": "2026-11-20T13:00:00Z",
	} {
		if got := fmt.Sprint(d[field]); got != want {
			t.Errorf("%s: got %s, want %s", field, got, want)
		}
	}
	attempts := items(map[string]any{"data": d["attempts"]})
	if names(attempts, "number") != "1 2" || names(attempts, "failure") != "status <nil>" || names(attempts, "endpoint_version") != "2 2" {
		t.Errorf("attempts %v", attempts)
	}
	owed := p.get("admin", "/api/webhooks/deliveries/dlv_b")
	if owed["first_attempt_at"] != nil || owed["last_status_code"] != nil || fmt.Sprint(owed["attempts"]) != "[]" {
		t.Errorf("owed delivery %v", owed)
	}
	p.problem("two", "/api/webhooks/deliveries/dlv_a", 404, "not_found")
	p.problem("one", "/api/webhooks/deliveries/dlv_q", 404, "not_found")
}

func TestFailedDeliveries(t *testing.T) {
	p := newPortal(t)
	p.deliveries(
		attempt{delivery: "dlv_a", endpoint: "ep_1", status: "exhausted", number: 1, code: 500, at: noon},
		attempt{delivery: "dlv_b", endpoint: "ep_1", status: "succeeded", number: 1, code: 200, at: noon},
		attempt{delivery: "dlv_c", endpoint: "ep_1", status: "canceled", at: noon.Add(time.Hour)},
		attempt{delivery: "dlv_d", endpoint: "ep_2", status: "exhausted", number: 1, code: 500, at: noon},
		attempt{delivery: "dlv_e", endpoint: "ep_1", status: "exhausted", number: 1, code: 500, at: noon.Add(-time.Hour)},
		attempt{delivery: "evt_f", endpoint: "ep_1", status: "exhausted", number: 1, code: 500, at: noon},
	)
	got, total, err := p.reader.FailedDeliveries(t.Context(), FailedDeliveriesQuery{Project: "prj_one", Endpoint: "ep_1", Since: noon, Limit: 1})
	if err != nil || total != 2 || len(got) != 1 || got[0].ID != "dlv_a" || got[0].Attempts != 1 {
		t.Errorf("%+v of %d, %v; want dlv_a of 2", got, total, err)
	}
	one, known, err := p.reader.PastDelivery(t.Context(), "prj_one", "dlv_c")
	if err != nil || !known || one.Status != "canceled" || one.EndpointID != "ep_1" {
		t.Errorf("%+v %t %v", one, known, err)
	}
	if _, known, err := p.reader.PastDelivery(t.Context(), "prj_two", "dlv_c"); known || err != nil {
		t.Errorf("another project's delivery: %t %v", known, err)
	}
}

func TestFeed(t *testing.T) {
	p := newPortal(t)
	var all []attempt
	for i := range 7 { // two at one moment
		all = append(all, attempt{delivery: fmt.Sprintf("dlv_%d", i), endpoint: "ep_feed", status: "succeeded", number: 1, code: 200, at: noon.Add(time.Duration(i/2) * time.Minute)})
	}
	all = append(all,
		attempt{delivery: "dlv_http", endpoint: "ep_1", status: "succeeded", number: 1, code: 200, at: noon},
		attempt{delivery: "dlv_two", endpoint: "ep_feed2", status: "succeeded", number: 1, code: 200, at: noon.Add(time.Hour)},
		attempt{delivery: "dlv_theirs", endpoint: "ep_feed", status: "succeeded", number: 1, code: 200, at: noon, project: "prj_two"})
	p.deliveries(all...)
	for query, want := range map[string]string{
		"": "dlv_two dlv_6 dlv_5 dlv_4 dlv_3 dlv_2 dlv_1 dlv_0", "endpoint_id=ep_feed2": "dlv_two", "event_type=deploy.gone": "",
	} {
		var got []string
		for path := "/api/webhooks/feed?limit=3&" + query; path != ""; {
			page := p.get("one", path)
			for _, item := range items(page) {
				got = append(got, fmt.Sprint(item["id"]))
				if data, _ := item["data"].(map[string]any); item["type"] != "deploy.done" || data["of"] != item["id"] {
					t.Errorf("%v", item)
				}
			}
			path = ""
			if next, ok := page["next_cursor"].(string); ok {
				path = "/api/webhooks/feed?limit=3&" + query + "&cursor=" + url.QueryEscape(next)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
