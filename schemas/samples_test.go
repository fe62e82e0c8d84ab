package schemas

import (
	"bytes"
	"fmt"
)

// sampleTime is the ts of sample events.
const sampleTime = "2026-11-20T09:30:00.123456789Z"

// sampleData is one complete payload of each type, every listed field present.
var sampleData = [typeCount]string{
	Audit:       `{"actor":"ada@example.com","action":"user.update","resource":"users/42","method":"PATCH","path":"/api/users/42","statusCode":200,"duration":12.75,"ip":"203.0.113.9","userAgent":"curl/8.5.0","metadata":{"fields":["name","mail"],"before":{"name":"A"}}}`,
	Config:      `{"path":"services/api/limits.yaml","diff":"@@ -1,2 +1,2 @@\n-limit: 10\n+limit: 20\n","actor":"deploy-bot"}`,
	Cost:        `{"provider":"aws","service":"ec2","region":"eu-central-1","amount":1234.567890123,"currency":"EUR","period":"2026-11"}`,
	Deploy:      `{"service":"checkout","version":"2.31.0","environment":"production","status":"succeeded","commit":"9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"}`,
	Error:       `{"name":"TypeError","message":"undefined is not a function (evaluating 'cart.total()')","release":"web@2.31.0","environment":"production","stack":"at checkout (app.js:10:5)\n  at main (app.js:2:1)"}`,
	FeatureFlag: `{"key":"new-checkout","enabled":true,"rollout":25.5,"actor":"ada@example.com"}`,
	Log:         `{"level":"info","message":"Received block blk_-1608999687919862906 of size 67108864 from /10.250.19.102","module":"dfs.DataNode$PacketResponder","fields":{"thread":143,"size":67108864}}`,
	Performance: `{"service":"checkout","metric":"http.server.duration","value":153.25,"unit":"ms"}`,
	Repository:  `{"provider":"github","repo":"acme/checkout","branch":"main","commit":"9f8e7d6c5b4a39281706f5e4d3c2b1a098765432","author":"Ada"}`,
	Tenant:      `{"projectId":"prj_4fK2","plan":"team","ingestLimitPerSecond":5000}`,
	Trace:       `{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","serviceName":"checkout","name":"POST /cart","durationMs":18.25}`,
	Video:       `{"jobId":"job_91","targetUrl":"https://example.com/cart","status":"done","artifactUrl":"https://cdn.example.com/91.mp4"}`,
	Webhook:     `{"destination":"crm","url":"https://example.com/hooks","statusCode":503,"attempt":2}`,
}

// sampleEvent is a valid event of a type.
func sampleEvent(t Type) string { return eventWith(t.String(), sampleData[t]) }

// eventWith is an event with a given type name and data text.
func eventWith(kind, data string) string {
	return fmt.Sprintf(`{"type":"%s","ts":"%s","data":%s}`, kind, sampleTime, data)
}

// bodyOf wraps event texts into a body.
func bodyOf(events ...string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"events":[`)
	for i, e := range events {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(e)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// mixedBody is n events of about 300 bytes, of all types in turn.
func mixedBody(n int) []byte {
	events := make([]string, n)
	for i := range events {
		events[i] = sampleEvent(Type(i % typeCount))
	}
	return bodyOf(events...)
}

// logBody is n log events of about 300 bytes each.
func logBody(n int) []byte {
	events := make([]string, n)
	for i := range events {
		events[i] = sampleEvent(Log)
	}
	return bodyOf(events...)
}
