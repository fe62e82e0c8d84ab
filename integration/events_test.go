package integration

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// kinds are the thirteen event types of the specification.
var kinds = []string{
	"audit", "config", "cost", "deploy", "error", "feature_flag", "log",
	"performance", "repository", "tenant", "trace", "video", "webhook",
}

// event is one event that a client sends. Its marker is in its data and nowhere else in the world.
type event struct {
	marker string
	kind   string
	ts     string
	data   string // the data object as sent
	reason string // why it must be rejected; "" when it is valid

	failure string    // the exception's name, of an error
	cost    costSum   // where its amount counts, of a cost
	amount  string    // of a cost, as sent
	status  int       // of a webhook
	at      time.Time // ts
}

// costSum names one sum of GET /api/cost/rollups.
type costSum struct{ Period, Provider, Service, Region, Currency string }

func (e *event) String() string { return e.kind + " " + e.marker }

func (e *event) json() string {
	return fmt.Sprintf(`{"type":%q,"ts":%q,"data":%s}`, e.kind, e.ts, e.data)
}

// failures are exceptions that nobody would take for one another; the numbers in their messages
// differ from occurrence to occurrence and make no new group.
var failures = map[string]string{
	"TimeoutError":        "upstream took %d ms",
	"NullPointerError":    "cannot read the customer of order %d",
	"ConnectionRefused":   "connect to payments failed after %d tries",
	"ChecksumMismatch":    "block %d is damaged",
	"OutOfMemory":         "needed %d bytes more",
	"PermissionDenied":    "user %d may not refund",
	"DeadlockDetected":    "transaction %d was chosen as the victim",
	"CertificateExpired":  "certificate is %d days too old",
	"TooManyOpenFiles":    "open of descriptor %d refused",
	"UnexpectedCharacter": "at offset %d of the body",
}

var failureNames = sortedKeys(failures)

// awkward are texts that break whoever re-encodes or cuts them.
var awkward = []string{
	`plain`, `quote \" and backslash \\`, `snow ☃ and 𝄞`, `\u0000 and \u001f and \ud834\udd1e`, `<b>&amp;</b>`,
	`\u003c\/script\u003e`, `tab\tand\nlines`, ``, `'; DROP TABLE events; --`, `ünïcödé`,
}

// newEvent makes a valid event of a random type, or of the given one.
func newEvent(rng *rand.Rand, marker, kind string) event {
	if kind == "" {
		kind = pick(rng, kinds)
	}
	at := time.Now().UTC().Add(-time.Duration(rng.Int64N(int64(40 * 24 * time.Hour))))
	e := event{marker: marker, kind: kind, at: at, ts: at.Format("2006-01-02T15:04:05.999999999Z")}
	if rng.IntN(5) == 0 {
		e.ts = strings.TrimSuffix(e.ts, "Z") + "+00:00"
	}
	fields := e.fields(rng)
	note := fmt.Sprintf(`"note":"%s"`, pick(rng, awkward)) // no field of the specification: kept as sent
	e.data = fmt.Sprintf(`{%s,"marker":"%s",%s}`, fields, marker, note)
	return e
}

// fields gives the type's fields of the specification, and remembers what the read models count.
func (e *event) fields(rng *rand.Rand) string {
	n := rng.IntN(1000)
	switch e.kind {
	case "audit":
		return fmt.Sprintf(`"actor":"user %d","action":"refund","resource":"order/%d","method":"POST","path":"/orders","statusCode":%d,"duration":%d.25,"ip":"10.0.0.7","userAgent":"%s","metadata":{"deep":[1,{"x":1e400}],"n":12345678901234567890.1}`, n, n, 200+n%300, n, pick(rng, awkward))
	case "log":
		return fmt.Sprintf(`"level":"%s","message":"%s %d","module":"shop","fields":{"n":%d}`, pick(rng, []string{"debug", "info", "warn", "error"}), pick(rng, awkward), n, n)
	case "deploy":
		return fmt.Sprintf(`"service":"shop","version":"1.%d.0","environment":"prod","status":"done","commit":"%x"`, n, rng.Uint64())
	case "repository":
		return fmt.Sprintf(`"provider":"git","repo":"shop/%d","branch":"main","commit":"%x","author":"%s"`, n, rng.Uint64(), pick(rng, awkward))
	case "config":
		return fmt.Sprintf(`"path":"/etc/shop/%d","diff":"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y","actor":"root"`, n)
	case "cost":
		return e.costFields(rng)
	case "performance":
		return fmt.Sprintf(`"service":"shop","metric":"latency","value":%d.5e-3,"unit":"ms"`, n)
	case "trace":
		return fmt.Sprintf(`"traceId":"%016x","spanId":"%08x","serviceName":"shop","name":"GET /","durationMs":%d.125`, rng.Uint64(), rng.Uint32(), n)
	case "error":
		e.failure = pick(rng, failureNames)
		return fmt.Sprintf(`"name":"%s","message":"`+failures[e.failure]+`","release":"1.%d","environment":"%s"`, e.failure, n, n%3, pick(rng, []string{"prod", "staging"}))
	case "feature_flag":
		return fmt.Sprintf(`"key":"new-cart-%d","enabled":%t,"rollout":0.%d,"actor":"ops"`, n, n%2 == 0, n)
	case "webhook":
		e.status = []int{200, 204, 404, 500, 503}[n%5]
		return fmt.Sprintf(`"destination":"to %s","url":"https://example.com/hook","statusCode":%d,"attempt":%d`, e.marker, e.status, 1+n%3)
	case "tenant": // not from an operator's project: recorded, and no limit changes
		return fmt.Sprintf(`"projectId":"somebody-%d","plan":"free","ingestLimitPerSecond":%d`, n, n)
	case "video":
		return fmt.Sprintf(`"jobId":"job-%d","targetUrl":"https://example.com","status":"done","artifactUrl":"https://example.com/%d"`, n, n)
	}
	panic("no fields for " + e.kind)
}

func (e *event) costFields(rng *rand.Rand) string {
	e.cost = costSum{Period: e.at.Format("2006-01"), Provider: pick(rng, []string{"aws", "gcp"}), Service: pick(rng, []string{"s3", "run", "bigquery"}),
		Region: pick(rng, []string{"eu-west-1", "us-east-1"}), Currency: pick(rng, []string{"EUR", "USD", "JPY"})}
	e.amount = amount(rng)
	return fmt.Sprintf(`"provider":"%s","service":"%s","region":"%s","amount":%s,"currency":"%s","period":"%s"`,
		e.cost.Provider, e.cost.Service, e.cost.Region, e.amount, e.cost.Currency, e.cost.Period)
}

// amount is money that no float holds: up to 18 digits before the point and 18 after it.
func amount(rng *rand.Rand) string {
	whole, fraction := rng.Int64N(1e9), rng.Int64N(1e18)
	switch rng.IntN(6) {
	case 0:
		return fmt.Sprintf("%d.%018d", whole*1e9+7, fraction)
	case 1:
		return fmt.Sprintf("-%d.%09d", whole%100, fraction%1e9)
	case 2:
		return fmt.Sprintf("%d.%012de-3", whole%1000, fraction%1e12)
	case 3:
		return fmt.Sprint(whole)
	default:
		return fmt.Sprintf("%d.%09d", whole%10000, fraction%1e9)
	}
}

// spoiled are ways to be rejected alone; the first %s takes the marker.
var spoiled = []struct{ kind, data, reason string }{
	{"audit", `{"action":"x","marker":"%s"}`, "data.actor: required"},
	{"log", `{"message":7,"marker":"%s"}`, "data.message: must be a string"},
	{"audit", `{"actor":"a","action":"x","statusCode":1.5,"marker":"%s"}`, "data.statusCode: must be an integer"},
	{"feature_flag", `{"key":"k","rollout":"all","marker":"%s"}`, "data.rollout: must be a number"},
	{"log", `{"message":"m","marker":"%s","message":"n"}`, "data.message: duplicate name"},
	{"nonsense", `{"marker":"%s"}`, `type: unknown value "nonsense"`},
}

// newSpoiled makes an event that must be rejected, and must never be seen again.
func newSpoiled(rng *rand.Rand, marker string) event {
	s := spoiled[rng.IntN(len(spoiled))]
	return event{marker: marker, kind: s.kind, ts: time.Now().UTC().Format(time.RFC3339), data: fmt.Sprintf(s.data, marker), reason: s.reason}
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
