package load

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Types of events in a body.
const (
	Logs  = "log"   // log events only
	Mixed = "mixed" // all thirteen types
)

// templates of about 300 bytes each. %[1]s is the time, %[2]d a number below a
// million, %[3]s sixteen hex digits.
var templates = []string{
	`{"type":"log","ts":"%[1]s","data":{"level":"info","message":"request %[2]d to /v1/carts done in time","module":"api.checkout","fields":{"status":200,"path":"/v1/carts/%[2]d","took_ms":12.5,"user":"u-%[2]d","region":"eu-central-1","trace":"%[3]s%[3]s","ok":true,"host":"web-17.example.internal"}}}`,
	`{"type":"audit","ts":"%[1]s","data":{"actor":"user-%[2]d","action":"invoice.approve","resource":"invoice/%[2]d","method":"POST","path":"/v1/invoices/%[2]d/approve","statusCode":200,"duration":18.25,"ip":"203.0.113.7","userAgent":"Mozilla/5.0 (X11; Linux x86_64)","metadata":{"request":"%[3]s"}}}`,
	`{"type":"config","ts":"%[1]s","data":{"path":"/etc/app/limits.yaml","diff":"--- a/limits.yaml\n+++ b/limits.yaml\n@@ -1,2 +1,2 @@\n-pool: 10\n+pool: %[2]d\n timeout: 30s\n","actor":"deployer","revision":"%[3]s%[3]s","reviewed":true,"note":"raised after the load test of last week"}}`,
	`{"type":"cost","ts":"%[1]s","data":{"provider":"aws","service":"s3","region":"eu-west-1","amount":%[2]d.123456789,"currency":"EUR","period":"2026-11","tags":{"team":"payments","environment":"production","owner":"u-%[2]d","resource":"arn:aws:s3:::bucket-%[3]s"},"note":"standard storage, per month"}}`,
	`{"type":"deploy","ts":"%[1]s","data":{"service":"checkout","version":"1.%[2]d.0","environment":"production","status":"succeeded","commit":"%[3]s%[3]s","steps":[{"name":"build","seconds":41},{"name":"test","seconds":122},{"name":"roll out","seconds":63}],"by":"pipeline %[2]d","canary":true}}`,
	`{"type":"error","ts":"%[1]s","data":{"name":"TimeoutError","message":"upstream took %[2]d ms","release":"1.4.2","environment":"production","stack":"TimeoutError: upstream took %[2]d ms\n    at Cart.load (/app/cart.js:41:13)\n    at async handler (/app/server.js:12:5)","service":"checkout","request":{"id":"%[3]s"}}}`,
	`{"type":"feature_flag","ts":"%[1]s","data":{"key":"new-checkout","enabled":true,"rollout":25.5,"actor":"user-%[2]d","segments":["beta","staff","eu"],"previous":{"enabled":true,"rollout":10},"reason":"the error rate stayed flat for two days","change":"%[3]s%[3]s","project":"storefront"}}`,
	`{"type":"performance","ts":"%[1]s","data":{"service":"checkout","metric":"http.server.duration","value":%[2]d.75,"unit":"ms","route":"/v1/carts/:id","region":"eu-central-1","host":"web-17.example.internal","labels":{"method":"GET","status":"200","zone":"b"},"trace":"%[3]s%[3]s"}}`,
	`{"type":"repository","ts":"%[1]s","data":{"provider":"github","repo":"example/storefront","branch":"main","commit":"%[3]s%[3]s","author":"user-%[2]d","message":"Carts are loaded in one query","files":["cart.go","cart_test.go","queries.sql"],"additions":120,"deletions":%[2]d,"signed":true}}`,
	`{"type":"tenant","ts":"%[1]s","data":{"projectId":"prj_bench_%[2]d","plan":"team","region":"eu-central-1","seats":25,"owner":"user-%[2]d","billing":{"currency":"EUR","interval":"month","invoice":"%[3]s"},"features":["errors","webhooks","costs","history"],"note":"moved from the trial plan"}}`,
	`{"type":"trace","ts":"%[1]s","data":{"traceId":"%[3]s%[3]s","spanId":"%[3]s","serviceName":"checkout","name":"GET /v1/carts/:id","durationMs":%[2]d.5,"parentSpanId":"%[3]s","attributes":{"http.status_code":200,"http.method":"GET","net.peer.name":"carts.example.internal"},"kind":"server"}}`,
	`{"type":"video","ts":"%[1]s","data":{"jobId":"job-%[2]d","targetUrl":"https://shop.example.com/carts/%[2]d","status":"finished","artifactUrl":"https://artifacts.example.com/%[3]s.webm","width":1280,"height":720,"seconds":41.2,"steps":["open","log in","add to cart","pay"],"browser":"firefox"}}`,
	`{"type":"webhook","ts":"%[1]s","data":{"destination":"chat","url":"https://hooks.example.com/services/%[3]s","statusCode":200,"attempt":1,"durationMs":%[2]d,"request":{"bytes":412,"signature":"v1"},"response":{"bytes":2,"headers":{"content-type":"text/plain"}},"event":"deploy.finished"}}`,
}

// Bodies makes n request bodies of batch events each. The same seed gives the
// same bodies, but for their time.
func Bodies(n, batch int, types string, seed uint64) [][]byte {
	random := rand.New(rand.NewPCG(seed, 1))
	kinds := templates
	if types != Mixed {
		kinds = templates[:1]
	}
	bodies := make([][]byte, n)
	for i := range bodies {
		var b strings.Builder
		b.WriteString(`{"events":[`)
		for j := range batch {
			if j > 0 {
				b.WriteByte(',')
			}
			ts := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
			fmt.Fprintf(&b, kinds[(i*batch+j)%len(kinds)], ts, random.IntN(1_000_000), fmt.Sprintf("%016x", random.Uint64()))
		}
		b.WriteString(`]}`)
		bodies[i] = []byte(b.String())
	}
	return bodies
}
