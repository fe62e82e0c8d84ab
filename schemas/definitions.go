package schemas

import "math"

// definitions is the specification of the thirteen types: the members of
// "data", their kinds, and which must be there. A field is listed once; the
// order is the order in which faults are looked for.
var definitions = [typeCount]Definition{
	Audit: {Type: Audit, Fields: []Field{
		text("actor", required),
		text("action", required),
		text("resource"),
		text("method"),
		text("path"),
		integer("statusCode", 0, maxStatusCode),
		number("duration"),
		text("ip"),
		text("userAgent"),
		object("metadata"),
	}},
	Config: {Type: Config, Fields: []Field{
		text("path", required),
		text("diff"),
		text("actor"),
	}},
	Cost: {Type: Cost, Fields: []Field{
		text("provider"),
		text("service", required),
		text("region"),
		amount("amount", required),
		currency("currency", required),
		text("period"),
	}},
	Deploy: {Type: Deploy, Fields: []Field{
		text("service", required),
		text("version", required),
		text("environment"),
		text("status"),
		text("commit"),
	}},
	Error: {Type: Error, AnyOf: []string{"name", "message"}, Fields: []Field{
		text("name"),
		text("message"),
		text("release"),
		text("environment"),
	}},
	FeatureFlag: {Type: FeatureFlag, Fields: []Field{
		text("key", required),
		boolean("enabled"),
		number("rollout"),
		text("actor"),
	}},
	Log: {Type: Log, Fields: []Field{
		text("level"),
		text("message", required),
		text("module"),
		object("fields"),
	}},
	Performance: {Type: Performance, Fields: []Field{
		text("service"),
		text("metric", required),
		number("value", required),
		text("unit"),
	}},
	Repository: {Type: Repository, Fields: []Field{
		text("provider"),
		text("repo", required),
		text("branch"),
		text("commit"),
		text("author"),
	}},
	Tenant: {Type: Tenant, Fields: []Field{
		text("projectId", required),
		text("plan"),
		integer("ingestLimitPerSecond", 0, math.MaxInt64),
	}},
	Trace: {Type: Trace, Fields: []Field{
		text("traceId", required),
		text("spanId", required),
		text("serviceName"),
		text("name", required),
		number("durationMs"),
	}},
	Video: {Type: Video, Fields: []Field{
		text("jobId", required),
		text("targetUrl"),
		text("status"),
		text("artifactUrl"),
	}},
	Webhook: {Type: Webhook, AnyOf: []string{"destination", "url"}, Fields: []Field{
		text("destination"),
		text("url"),
		integer("statusCode", 0, maxStatusCode),
		integer("attempt", 0, maxAttempt),
	}},
}
