package openapi

import (
	"strings"

	"weir/schemas"
)

// Who may call an operation: anybody, a key with a scope, or the admin.
type Who string

// The admin may call everything but ingest and capture.
const (
	Anybody Who = ""
	Ingest  Who = "ingest"
	Read    Who = "read"
	Manage  Who = "manage"
	Admin   Who = "admin"
)

// Operation is one method of one path, spelled as its route.
type Operation struct {
	Method, Path string
	Who          Who
	Summary      string
	Params       []string // of query and headers, by their names in components.json
	Body         string   // shape in components.json
	BodyOptional bool
	Answers      []Answer
	Problems     []int // statuses to be told beside the default
}

// Answer is what a success looks like. Shape is one of components.json, with []
// for a page of them; "" has no body, unless Type names what it is.
type Answer struct {
	Status int
	Shape  string
	Type   string // "" is application/json
}

func ok(shape string) []Answer       { return []Answer{{Status: 200, Shape: shape}} }
func created(shape string) []Answer  { return []Answer{{Status: 201, Shape: shape}} }
func accepted(shape string) []Answer { return []Answer{{Status: 202, Shape: shape}} }
func text(kind string) []Answer      { return []Answer{{Status: 200, Type: kind}} }
func nothing() []Answer              { return []Answer{{Status: 204}} }
func paged(names ...string) []string {
	return append(names, "project_id", "limit", "cursor", "Position")
}
func with(names []string, more ...string) []string { return append(names, more...) }

// filters are those of the history.
func filters() []string { return []string{"type", "from", "to", "q", "where"} }

// Operations are all there are, in the order of the documentation.
func Operations() []Operation {
	all := []Operation{
		{"POST", "/api/ingest", Ingest, "Take a signed batch of events.", []string{"Signature", "IdempotencyKey", "ContentEncoding"}, "Batch", false, ok("Ingested"), []int{400, 401, 403, 413, 429, 503}},
		{"GET", "/api/ingest/rejections", Read, "Why events were rejected: counts, and the last sample, by type and reason.", paged("type", "since", "until"), "", false, ok("Rejection[]"), nil},

		{"GET", "/api/events", Read, "A project's events, newest first.", paged(filters()...), "", false, ok("StoredEvent[]"), nil},
		{"GET", "/api/events/histogram", Read, "Counts of events by time and type.", with(filters(), "interval", "buckets", "project_id", "Position"), "", false, ok("HistogramBucket[]"), nil},
		{"GET", "/api/events/tail", Read, "Events as they arrive, as server-sent events.", []string{"project_id", "type", "q", "where", "last_event_id"}, "", false, text("text/event-stream"), nil},
		{"GET", "/api/trace/{traceId}", Read, "The spans of a trace, the first one first.", paged(), "", false, ok("Trace"), []int{404}},
		{"GET", "/api/performance/series", Read, "Count and percentiles of performance metrics over time.", []string{"project_id", "metric", "service", "from", "to", "interval", "buckets", "Position"}, "", false, ok("SeriesPoint[]"), nil},

		{"POST", "/api/errors/capture", Ingest, "Capture one exception.", []string{"IdempotencyKey"}, "Exception", false, ok("Captured"), []int{400, 401, 403, 413, 429, 503}},
		{"GET", "/api/errors/groups", Read, "Grouped exceptions of a project.", paged("group_status", "environment", "release", "service", "q", "since", "until", "sort", "order"), "", false, ok("ErrorGroup[]"), nil},
		{"GET", "/api/errors/groups/{fingerprint}", Read, "One group, its recent occurrences, and why they are one group.", paged(), "", false, ok("ErrorGroupDetail"), []int{404}},
		{"POST", "/api/errors/groups/{fingerprint}/status", Manage, "Resolve, ignore or reopen a group.", []string{"project_id"}, "GroupStatus", false, ok("Triage"), []int{404}},
		{"POST", "/api/errors/groups/{fingerprint}/merge", Manage, "Make a group part of another one.", []string{"project_id"}, "GroupMerge", false, ok("Triage"), []int{404}},
		{"POST", "/api/errors/groups/{fingerprint}/unmerge", Manage, "Make a merged group one of its own again.", []string{"project_id"}, "GroupUnmerge", true, ok("Triage"), []int{404}},
		{"GET", "/api/errors/preview", Admin, "What another grouping algorithm would change: a line of JSON as it goes on, the last one with the result.", []string{"algorithm", "project_id", "preview_limit"}, "", false, text("application/x-ndjson"), nil},

		{"GET", "/api/webhooks/endpoints", Read, "Webhook endpoints of a project.", paged(), "", false, ok("Endpoint[]"), nil},
		{"POST", "/api/webhooks/endpoints", Manage, "Make a webhook endpoint; its secret is shown in this answer only.", nil, "EndpointIn", false, created("EndpointWithSecret"), []int{400}},
		{"PATCH", "/api/webhooks/endpoints/{id}", Manage, "Change an endpoint.", nil, "EndpointIn", false, ok("Endpoint"), []int{404}},
		{"DELETE", "/api/webhooks/endpoints/{id}", Manage, "Delete an endpoint.", nil, "", false, nothing(), []int{404}},
		{"POST", "/api/webhooks/endpoints/{id}/rotate", Manage, "Rotate the signing secret; the old one signs too for a while.", nil, "Rotation", true, ok("EndpointWithSecret"), []int{404}},
		{"POST", "/api/webhooks/endpoints/{id}/test", Manage, "Deliver a test event to one endpoint.", nil, "", false, accepted("Delivered"), []int{404}},
		{"POST", "/api/webhooks/endpoints/{id}/recover", Manage, "Deliver again what did not arrive since a time or a position of the log.", nil, "Recover", false, []Answer{{Status: 200, Shape: "Recovered"}, {Status: 202, Shape: "Recovered"}}, []int{404}},
		{"POST", "/api/webhooks/deliver", Manage, "Deliver a payload to one endpoint, or to all that take its event type.", []string{"IdempotencyKey"}, "Deliver", false, accepted("Delivered"), []int{404}},
		{"POST", "/api/webhooks/deliveries/{id}/redeliver", Manage, "Try one delivery again.", nil, "", false, accepted("Delivered"), []int{404}},
		{"GET", "/api/webhooks/deliveries", Read, "Webhook deliveries, newest first.", paged("endpoint_id", "delivery_status"), "", false, ok("Delivery[]"), nil},
		{"GET", "/api/webhooks/deliveries/{id}", Read, "One delivery with every attempt.", []string{"project_id", "Position"}, "", false, ok("DeliveryDetail"), []int{404}},
		{"GET", "/api/webhooks/deliveries/{id}/attempts/{number}/verification", Read, "Whether the signature of a past attempt is right, without showing a secret.", nil, "", false, ok("Verification"), []int{404}},
		{"GET", "/api/webhooks/feed", Read, "What was delivered to internal endpoints, newest first.", paged("endpoint_id", "event_type"), "", false, ok("FeedItem[]"), nil},

		{"GET", "/api/cost/rollups", Read, "Exact sums of costs per period, currency and what they are grouped by.", paged("cost_from", "cost_to", "cost_interval", "group_by"), "", false, ok("CostRollup[]"), nil},
		{"GET", "/api/cost/budgets", Read, "A project's monthly budgets, all of them.", []string{"project_id"}, "", false, ok("Budget[]"), nil},
		{"POST", "/api/cost/budgets", Manage, "Set a monthly budget: cost.budget.exceeded is sent when a month's sum is above it.", nil, "BudgetIn", false, created("Budget"), []int{400}},
		{"PATCH", "/api/cost/budgets/{id}", Manage, "Change a budget's amount or name.", nil, "BudgetChange", false, ok("Budget"), []int{404}},
		{"DELETE", "/api/cost/budgets/{id}", Manage, "Delete a budget.", nil, "", false, nothing(), []int{404}},

		{"POST", "/api/projects", Admin, "Make a project with its first key and its webhook secret, shown in this answer only.", nil, "ProjectIn", false, created("NewProject"), nil},
		{"GET", "/api/projects", Admin, "All projects.", []string{"limit", "cursor"}, "", false, ok("Project[]"), nil},
		{"GET", "/api/projects/{id}", Read, "One project.", nil, "", false, ok("Project"), []int{404}},
		{"PATCH", "/api/projects/{id}", Admin, "Rename a project, mark it as operator, set its limits.", nil, "ProjectChange", false, ok("Project"), []int{404}},
		{"PATCH", "/api/projects/{id}/limits", Admin, "Set a project's own limits; null is the server's default, a rate of 0 no limit.", nil, "Limits", false, ok("Project"), []int{404}},
		{"POST", "/api/projects/{id}/keys", Manage, "Make an API key, shown in this answer only.", nil, "KeyIn", false, created("NewKey"), []int{404}},
		{"GET", "/api/projects/{id}/keys", Manage, "The keys of a project, revoked ones too.", []string{"limit", "cursor"}, "", false, ok("Key[]"), []int{404}},
		{"DELETE", "/api/projects/{id}/keys/{key_id}", Manage, "Revoke a key: it is refused everywhere within a second.", nil, "", false, nothing(), []int{404}},

		{"GET", "/api/projections", Admin, "Each read model: lag, generation, rebuild progress.", nil, "", false, ok("Projection[]"), nil},
		{"POST", "/api/projections/{name}/rebuild", Admin, "Begin, cancel or undo a rebuild.", nil, "Rebuild", true, []Answer{{Status: 200, Shape: "RebuildAnswer"}, {Status: 202, Shape: "RebuildAnswer"}}, []int{404}},
		{"POST", "/api/projections/{name}/verify", Admin, "Fold the log anew on the side and compare it with the read model.", nil, "Free", true, accepted("Free"), []int{404}},
		{"GET", "/api/projections/{name}/verify", Admin, "How far a verification is, and what it found.", nil, "", false, ok("Free"), []int{404}},
		{"POST", "/api/projects/{id}/prove", Admin, "Count a project's events in the log against the rows of every read model.", nil, "ProveIn", true, accepted("Free"), []int{404}},
		{"GET", "/api/projects/{id}/prove", Admin, "How far a proof is, and what it found.", nil, "", false, ok("Free"), []int{404}},
		{"GET", "/api/projections/{name}/quarantine", Admin, "Records that the live generation of a read model could not fold, newest first.", []string{"limit", "cursor"}, "", false, ok("Quarantined[]"), []int{404}},
		{"POST", "/api/projections/{name}/quarantine/retry", Admin, "Fold records in quarantine again; those of the body's fields that are given choose.", nil, "RetryIn", true, accepted("RetryCounts"), []int{404}},
		{"GET", "/api/projections/{name}/quarantine/retry", Admin, "How far the retries of the live generation are.", nil, "", false, ok("RetryCounts"), []int{404}},
		{"GET", "/api/doctor", Admin, "What is running, what it survives, and the effective configuration without secrets.", nil, "", false, ok("Free"), nil},

		{"GET", "/api/openapi.json", Anybody, "This document.", nil, "", false, ok("Free"), nil},
		{"GET", "/livez", Anybody, "The process runs.", nil, "", false, ok("Health"), nil},
		{"GET", "/readyz", Anybody, "Requests can be taken; 503 says what is missing.", nil, "", false, []Answer{{Status: 200, Shape: "Health"}, {Status: 503, Shape: "Health"}}, nil},
		{"GET", "/metrics", Anybody, "Metrics for Prometheus.", nil, "", false, text("text/plain"), nil},
	}
	for _, module := range modules() {
		all = append(all, Operation{"GET", "/api/" + module + "/status", Anybody, "Health of the module " + module + ": 200 for ok and degraded, 503 for down.", nil, "", false,
			[]Answer{{Status: 200, Shape: "ModuleStatus"}, {Status: 503, Shape: "ModuleStatus"}}, nil})
	}
	return all
}

func modules() []string {
	names := []string{"ingest"}
	for _, t := range schemas.Types() {
		names = append(names, t.Module())
	}
	return names
}

// tag is the first part of the path: "errors" for /api/errors/groups.
func (o Operation) tag() string {
	path, api := strings.CutPrefix(o.Path, "/api/")
	if !api {
		return "health"
	}
	first, _, _ := strings.Cut(path, "/")
	return first
}

func tags() (all []any) {
	seen := map[string]bool{}
	for _, o := range Operations() {
		if name := o.tag(); !seen[name] {
			seen[name] = true
			all = append(all, object{"name": name})
		}
	}
	return all
}
