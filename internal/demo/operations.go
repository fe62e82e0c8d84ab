package demo

import (
	"fmt"
	"time"
)

// background is what goes on without anybody asking: machines, jobs, deliveries.
func (d *day) background(n int) {
	for i := range n {
		at := d.at(24 * (float64(i) + d.rng.Float64()) / float64(n))
		switch d.rng.IntN(12) {
		case 0, 1, 2:
			d.add("performance", at, data{"service": pick(d, []string{"catalog", "checkout", "search"}), "metric": "process.memory", "value": round(180 + 60*d.rng.Float64()), "unit": "MB"})
		case 3, 4, 5:
			d.add("performance", at, data{"service": "postgres", "metric": "db.query.duration", "value": d.slow(4, .7), "unit": "ms"})
		case 6:
			d.webhook(at)
		case 7:
			if d.rng.IntN(3) == 0 {
				d.video(at)
			}
		default:
			d.add("log", at, data{"level": pick(d, []string{"info", "info", "info", "debug", "warn"}), "module": "worker", "message": fmt.Sprintf(pick(d, jobs), d.rng.IntN(5000))})
		}
	}
}

var jobs = []string{"job invoices: %d done", "job newsletter: %d mails", "job stock-sync: %d rows changed", "retry of delivery %d is due", "cleaned %d sessions"}

var receivers = [][2]string{{"erp", "https://erp.example/hooks/orders"}, {"crm", "https://crm.example/in"}, {"slack-ops", "https://hooks.example/ops"}}

func (d *day) webhook(at time.Time) {
	code := pick(d, []int{200, 200, 200, 200, 204, 500, 503})
	to := pick(d, receivers)
	d.add("webhook", at, data{"destination": to[0], "url": to[1], "statusCode": code, "attempt": 1 + d.rng.IntN(2), "durationMs": d.slow(80, .5)})
}

func (d *day) video(at time.Time) {
	job := "job_" + d.hex(8)
	for i, status := range []string{"queued", "rendering", "done"} {
		v := data{"jobId": job, "targetUrl": "https://shop.example/products/" + d.hex(4), "status": status}
		if status == "done" {
			v["artifactUrl"] = "https://media.example/" + job + ".mp4"
		}
		d.add("video", at.Add(time.Duration(i*40)*time.Second), v)
	}
}

var staff = []string{"mira@shop.example", "jonas@shop.example", "aylin@shop.example", "deploy-bot"}

// people is what the staff did: audits, settings, flags, commits, plans.
func (d *day) people() {
	acts := []data{
		{"action": "viewed", "resource": "order", "method": "GET", "path": "/admin/orders", "statusCode": 200},
		{"action": "refunded", "resource": "order", "method": "POST", "path": "/admin/orders/refund", "statusCode": 201},
		{"action": "changed the price of", "resource": "product", "method": "PATCH", "path": "/admin/products", "statusCode": 200},
		{"action": "delete", "resource": "user", "method": "DELETE", "path": "/admin/users", "statusCode": 403},
		{"action": "exported", "resource": "customer list", "method": "GET", "path": "/admin/customers.csv", "statusCode": 200},
	}
	for range 140 {
		a := data{"actor": pick(d, staff[:3]), "ip": d.address(), "duration": d.slow(30, .5), "userAgent": "Mozilla/5.0"}
		for k, v := range pick(d, acts) {
			a[k] = v
		}
		a["resource"] = fmt.Sprintf("%s %d", a["resource"], 1000+d.rng.IntN(8000))
		d.add("audit", d.moment(), a)
	}
	for i, c := range configs {
		d.add("config", d.at(3.3+float64(i)*4.6), data{"path": c[0], "diff": c[1], "actor": staff[i%3]})
	}
	for i, key := range []string{"new-checkout", "search-suggest", "dark-mode"} {
		for j := range 4 {
			d.add("feature_flag", d.at(2+float64(i)+5*float64(j)), data{"key": key, "enabled": j != 3 || i > 0, "rollout": []int{5, 25, 50, 0}[j], "actor": staff[i]})
		}
	}
	for range 22 {
		d.add("repository", d.moment(), data{"provider": "github", "repo": pick(d, []string{"shop/web", "shop/backend", "shop/infra"}), "branch": pick(d, []string{"main", "fix/timeout", "feat/new-checkout"}), "commit": d.hex(40), "author": pick(d, staff[:3])})
	}
	for _, plan := range []string{"starter", "team", "scale"} {
		d.add("tenant", d.moment(), data{"projectId": "tenant-" + plan, "plan": plan, "ingestLimitPerSecond": map[string]int{"starter": 200, "team": 1000, "scale": 5000}[plan]})
	}
}

var configs = [][2]string{
	{"payments/client.yaml", "--- a/payments/client.yaml\n+++ b/payments/client.yaml\n@@ -4,7 +4,7 @@\n client:\n   url: https://pay.example\n-  timeout: 10s\n+  timeout: 3s\n   retries: 2\n-  pool: 64\n+  pool: 16\n"},
	{"catalog/cache.yaml", "--- a/catalog/cache.yaml\n+++ b/catalog/cache.yaml\n@@ -1,4 +1,5 @@\n cache:\n   size: 512MB\n+  stale_while_revalidate: 30s\n   ttl: 5m\n"},
	{"infra/limits.tf", "--- a/infra/limits.tf\n+++ b/infra/limits.tf\n@@ -11,6 +11,6 @@ module \"postgres\" {\n-  max_connections = 100\n+  max_connections = 200\n }\n"},
	{"payments/client.yaml", "--- a/payments/client.yaml\n+++ b/payments/client.yaml\n@@ -4,7 +4,7 @@\n-  timeout: 3s\n+  timeout: 10s\n"},
}

// deploys are the day's releases: a good one, the bad one, the one that mends it.
func (d *day) deploys() {
	for _, one := range []struct {
		hour             float64
		service, version string
	}{{9.4, "shop", "2.14.1"}, {12.1, "search", "1.8.0"}, {badFrom, "shop", "2.15.0"}, {badUntil, "shop", "2.15.1"}} {
		commit := d.hex(40)
		d.add("deploy", d.at(one.hour-.05), data{"service": one.service, "version": one.version, "environment": "production", "status": "started", "commit": commit})
		d.add("deploy", d.at(one.hour), data{"service": one.service, "version": one.version, "environment": "production", "status": "succeeded", "commit": commit})
	}
}

// costs are the bills of so many days, a line for each service and day.
func (d *day) costs(end time.Time, days int) {
	lines := []struct {
		provider, service, region string
		base                      float64
	}{
		{"aws", "ec2", "eu-central-1", 41}, {"aws", "rds", "eu-central-1", 28}, {"aws", "s3", "eu-west-1", 6.4}, {"aws", "cloudfront", "global", 11},
		{"gcp", "bigquery", "europe-west3", 9}, {"gcp", "storage", "europe-west3", 2.2}, {"hetzner", "servers", "fsn1", 14.5}, {"cloudflare", "workers", "global", 3.1},
	}
	for back := range days {
		day := end.AddDate(0, 0, -back).Truncate(24 * time.Hour).Add(4 * time.Hour)
		for _, l := range lines {
			amount := l.base * (1 + .12*d.rng.NormFloat64()) * (1 + float64(60-back)/240)
			d.add("cost", day, data{"provider": l.provider, "service": l.service, "region": l.region, "amount": round(max(amount, .1)), "currency": "EUR", "period": day.Format("2006-01")})
		}
	}
}
