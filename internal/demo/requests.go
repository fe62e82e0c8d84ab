package demo

import (
	"fmt"
	"time"
)

type route struct {
	method, path, service string
	median                float64 // milliseconds
	steps                 []step
}

type step struct {
	service, name string
	share         float64 // of the request's time
}

var routes = []route{
	{"GET", "/api/products", "catalog", 28, []step{{"catalog", "cache.get products", .1}, {"postgres", "SELECT products", .6}}},
	{"GET", "/api/products/{id}", "catalog", 17, []step{{"postgres", "SELECT product", .5}, {"catalog", "render", .2}}},
	{"POST", "/api/cart", "cart", 22, []step{{"redis", "HSET cart", .25}, {"catalog", "GET /internal/stock", .45}}},
	{"POST", "/api/checkout", "checkout", 180, []step{{"cart", "GET /internal/cart", .1}, {"inventory", "reserve", .15}, {"payments", "POST /charge", .55}, {"kafka", "append order.placed", .05}}},
	{"GET", "/api/orders", "orders", 41, []step{{"postgres", "SELECT orders", .7}}},
	{"POST", "/api/login", "auth", 95, []step{{"auth", "argon2 verify", .8}, {"redis", "SET session", .05}}},
	{"GET", "/api/search", "search", 63, []step{{"search", "parse query", .05}, {"opensearch", "POST /products/_search", .8}}},
}

// request is one request through the shop: a trace, its log lines, sometimes an error.
func (d *day) request(at time.Time) {
	r := pick(d, routes)
	took := d.slow(r.median, .45)
	if d.bad(at) && r.service == "checkout" {
		took *= 3.4
	}
	trace, root := d.hex(32), d.hex(16)
	failed := d.fails(r, at)
	d.spans(r, at, took, trace, root)
	d.lines(r, at, took, trace, failed)
	for _, m := range []string{"http.server.duration"} {
		d.add("performance", at.Add(ms(took)), data{"service": r.service, "metric": m, "value": took, "unit": "ms", "route": r.path})
	}
	if failed {
		d.fault(r, at.Add(ms(took)), trace)
	}
}

func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

func (d *day) fails(r route, at time.Time) bool {
	chance := .012
	if d.bad(at) && r.service == "checkout" {
		chance = .34
	}
	return d.rng.Float64() < chance
}

func (d *day) spans(r route, at time.Time, took float64, trace, root string) {
	d.add("trace", at, data{"traceId": trace, "spanId": root, "serviceName": "gateway", "name": r.method + " " + r.path, "durationMs": took, "kind": "server"})
	inner := d.hex(16)
	lead := took * .04
	d.add("trace", at.Add(ms(lead)), data{"traceId": trace, "spanId": inner, "parentSpanId": root, "serviceName": r.service, "name": r.method + " " + r.path, "durationMs": round(took * .93)})
	from := lead + took*.03
	for _, s := range r.steps {
		long := took * s.share * .93
		d.add("trace", at.Add(ms(from)), data{"traceId": trace, "spanId": d.hex(16), "parentSpanId": inner, "serviceName": s.service, "name": s.name, "durationMs": round(long)})
		from += long + took*.01
	}
}

func round(v float64) float64 { return float64(int(v*100)) / 100 }

func (d *day) lines(r route, at time.Time, took float64, trace string, failed bool) {
	user := fmt.Sprintf("u_%05d", d.rng.IntN(4000))
	fields := data{"user": user, "traceId": trace, "durationMs": took, "status": 200}
	d.add("log", at, data{"level": "debug", "module": "gateway", "message": fmt.Sprintf("%s %s from %s", r.method, r.path, d.address()), "fields": data{"traceId": trace}})
	switch {
	case failed:
		fields["status"] = 502
		d.add("log", at.Add(ms(took)), data{"level": "error", "module": r.service, "message": fmt.Sprintf("%s %s failed after %.0f ms: upstream did not answer", r.method, r.path, took), "fields": fields})
	case took > 900:
		d.add("log", at.Add(ms(took)), data{"level": "warn", "module": r.service, "message": fmt.Sprintf("slow request: %s %s took %.0f ms", r.method, r.path, took), "fields": fields})
	default:
		d.add("log", at.Add(ms(took)), data{"level": "info", "module": r.service, "message": fmt.Sprintf("%s %s 200 in %.1f ms", r.method, r.path, took), "fields": fields})
	}
	for range d.rng.IntN(4) {
		d.add("log", at.Add(ms(took*d.rng.Float64())), data{"level": "info", "module": r.service, "message": fmt.Sprintf(pick(d, chatter), d.rng.IntN(9000)+1), "fields": data{"traceId": trace}})
	}
}

var chatter = []string{
	"cache hit for product:%d", "cache miss for product:%d, loading", "cart %d merged with the session's", "stock of sku-%d is low",
	"mail %d handed to the relay", "price list %d is up to date", "session of user %d renewed", "index segment %d merged",
}

func (d *day) address() string {
	return fmt.Sprintf("%d.%d.%d.%d", pick(d, []int{81, 94, 151, 203}), d.rng.IntN(255), d.rng.IntN(255), 1+d.rng.IntN(253))
}
