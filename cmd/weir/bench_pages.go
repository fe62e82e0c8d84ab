package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"weir/internal/client"
)

// benchPagesCmd measures what the console's pages ask the API for, one request at a time: how long
// each takes with the events that a project has. It only reads.
type benchPagesCmd struct {
	remote
	Project string `help:"Project to look at; without it, the demo project of the data folder." placeholder:"ID"`
	Rounds  int    `help:"How often each request is made, after two that are not counted." default:"100"`
	Only    string `name:"page" help:"One page: overview, events, search, errors, performance, costs, webhooks or trace." placeholder:"PAGE"`
}

// pageCall is one request of a page.
type pageCall struct {
	page, what, path string
	query            url.Values
}

// pageTimes is what one request took, in milliseconds.
type pageTimes struct {
	Page  string  `json:"page"`
	What  string  `json:"what"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
	Error string  `json:"error,omitempty"` // the first; what failed is timed too
}

func (c *benchPagesCmd) Run(ctx context.Context, t *terminal) error {
	if c.Rounds < 1 {
		return usagef("--rounds must be at least 1")
	}
	if c.Project == "" {
		kept, err := readDemo(c.Data + "/demo.json")
		if err != nil || kept.ProjectID == "" {
			return usagef("--project is missing, and %s has no demo project", c.Data)
		}
		c.Project = kept.ProjectID
	}
	api, err := c.admin()
	if err != nil {
		return err
	}
	for _, call := range pageCalls(ctx, api, c.Project, time.Now()) {
		if c.Only != "" && c.Only != call.page {
			continue
		}
		times := call.measure(ctx, api, c.Rounds)
		if c.JSON {
			_ = t.json(times)
			continue
		}
		t.printf("%-12s %-44s p50 %7.1f ms   p99 %7.1f ms   max %7.1f ms %s\n", times.Page, times.What, times.P50, times.P99, times.Max, times.Error)
	}
	return nil
}

// measure makes the request again and again; the whole answer is read.
func (c pageCall) measure(ctx context.Context, api *client.Client, rounds int) pageTimes {
	times := pageTimes{Page: c.page, What: c.what}
	const warm = 2
	var took []float64
	for i := range rounds + warm {
		began := time.Now()
		var answer json.RawMessage
		if err := api.Call(ctx, http.MethodGet, c.path, c.query, nil, &answer); err != nil && times.Error == "" {
			times.Error = err.Error()
		}
		if i >= warm {
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
	}
	slices.Sort(took)
	times.P50, times.P99, times.Max = took[len(took)/2], took[(len(took)*99-1)/100], took[len(took)-1]
	return times
}

// pageCalls are the requests of the pages, over a day, a month and all time.
func pageCalls(ctx context.Context, api *client.Client, project string, now time.Time) []pageCall {
	var calls []pageCall
	add := func(page, what, path string, pairs ...string) {
		query := url.Values{"project_id": {project}}
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				query.Add(pairs[i], pairs[i+1])
			}
		}
		calls = append(calls, pageCall{page, what, path, query})
	}
	to := now.UTC().Format(time.RFC3339Nano)
	for _, r := range []struct{ name, from, to string }{
		{"24 h", now.UTC().Add(-24 * time.Hour).Format(time.RFC3339Nano), to}, {"30 d", now.UTC().AddDate(0, 0, -30).Format(time.RFC3339Nano), to}, {"all time", "", ""},
	} {
		add("overview", "histogram, "+r.name, "/api/events/histogram", "from", r.from, "to", r.to, "buckets", "96")
		add("overview", "deploys, "+r.name, "/api/events", "type", "deploy", "from", r.from, "to", r.to, "limit", "100")
		add("overview", "rejections, "+r.name, "/api/ingest/rejections", "since", r.from, "until", r.to, "limit", "200")
		add("events", "list, "+r.name, "/api/events", "from", r.from, "limit", "50")
		add("events", "list of errors, "+r.name, "/api/events", "type", "error", "from", r.from, "limit", "50")
		add("events", "list of tenants, "+r.name, "/api/events", "type", "tenant", "from", r.from, "limit", "50")
		add("events", "histogram of audits, "+r.name, "/api/events/histogram", "type", "audit", "from", r.from, "to", r.to, "buckets", "96")
		add("search", "list with level=error, "+r.name, "/api/events", "where", "level=error", "from", r.from, "limit", "50")
		add("search", "list with a rare text, "+r.name, "/api/events", "q", "no such text", "from", r.from, "limit", "50")
		add("search", "histogram of a rare text, "+r.name, "/api/events/histogram", "q", "no such text", "from", r.from, "to", r.to, "buckets", "96")
		add("performance", "all metrics, "+r.name, "/api/performance/series", "from", r.from, "to", r.to, "buckets", "72")
		add("performance", "one service, "+r.name, "/api/performance/series", "service", "catalog", "from", r.from, "to", r.to, "buckets", "72")
	}
	month := now.UTC().Format("2006-01")
	before, after := now.UTC().AddDate(0, 0, -now.UTC().Day()).Format("2006-01"), now.UTC().AddDate(0, 0, 32-now.UTC().Day()).Format("2006-01")
	for _, by := range []string{"service", "region"} {
		add("costs", "this month by "+by, "/api/cost/rollups", "from", month, "to", after, "interval", "day", "group_by", by, "limit", "200")
		add("costs", "last month by "+by, "/api/cost/rollups", "from", before, "to", month, "interval", "day", "group_by", by, "limit", "200")
	}
	add("errors", "to look at", "/api/errors/groups", "status", "unresolved,regressed", "sort", "last_seen", "limit", "50")
	add("errors", "newest five", "/api/errors/groups", "status", "unresolved,regressed", "sort", "last_seen", "limit", "5")
	add("webhooks", "endpoints", "/api/webhooks/endpoints", "limit", "200")
	add("webhooks", "deliveries", "/api/webhooks/deliveries", "limit", "50")
	add("webhooks", "deliveries exhausted", "/api/webhooks/deliveries", "status", "exhausted", "limit", "50")
	add("overview", "status of logs", "/api/log/status")
	if id := someID(ctx, api, "/api/webhooks/deliveries", project, "", "id"); id != "" {
		add("webhooks", "one delivery", "/api/webhooks/deliveries/"+url.PathEscape(id))
	}
	if id := someID(ctx, api, "/api/errors/groups", project, "", "fingerprint"); id != "" {
		add("errors", "one group", "/api/errors/groups/"+url.PathEscape(id))
	}
	if id := someID(ctx, api, "/api/events", project, "trace", "data.traceId"); id != "" {
		add("trace", "one trace", "/api/trace/"+url.PathEscape(id), "limit", "200")
	}
	return calls
}

// someID is the id of a list's first item; "" where there is none.
func someID(ctx context.Context, api *client.Client, path, project, kind, field string) string {
	query := url.Values{"project_id": {project}, "limit": {"1"}}
	if kind != "" {
		query.Set("type", kind)
	}
	var page struct {
		Data []struct {
			ID          string `json:"id"`
			Fingerprint string `json:"fingerprint"`
			Data        struct {
				TraceID string `json:"traceId"`
			} `json:"data"`
		} `json:"data"`
	}
	if err := api.Call(ctx, http.MethodGet, path, query, nil, &page); err != nil || len(page.Data) == 0 {
		return ""
	}
	switch item := page.Data[0]; field {
	case "id":
		return item.ID
	case "fingerprint":
		return item.Fingerprint
	default:
		return item.Data.TraceID
	}
}
