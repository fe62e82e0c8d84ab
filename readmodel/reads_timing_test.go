package readmodel

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// benchRows is the size of the project that benchmarks read: -benchtime sets the number of reads, not this.
const benchRows = 2_000_000

// fill makes events, error groups and occurrences inside the engine, so that it takes seconds.
func (p *portal) fill(rows int) {
	p.t.Helper()
	for _, insert := range []string{
		`INSERT INTO events SELECT toFixedString(unhex(leftPad(hex(number), 32, '0')), 16), 'prj_one', number %% 13,
		 toDateTime64('2026-11-01 00:00:00', 9, 'UTC') + number, toDateTime64('2026-11-01 00:00:00', 3, 'UTC') + number,
		 concat('{"level":"', ['info','warn','error'][number %% 3 + 1], '","message":"request number ', toString(number), ' took some time in the checkout of the shop, which is slow","statusCode":', toString(200 + number %% 400), ',"traceId":"t', toString(intDiv(number, 26)), '","metric":"latency","value":', toString(number %% 1000), ',"fields":{"user":', toString(number %% 5000), ',"path":"/api/orders/items/list"}}'),
		 '', 0, number FROM numbers(%d) SETTINGS max_partitions_per_insert_block = 0`,
		`INSERT INTO error_groups SELECT 'prj_one', toFixedString(unhex(leftPad(hex(number %% 100000 + 1), 32, '0')), 16), 1, at, at,
		 (at, toFixedString('', 16), 'TypeError', 'x is not a function', 'main.js', '{}'), (at, '1.0'), (at, '1.1')
		 FROM (SELECT number, toDateTime64('2026-11-01 00:00:00', 9, 'UTC') + number AS at FROM numbers(%d))`,
		`INSERT INTO error_group_facets SELECT 'prj_one', toFixedString(unhex(leftPad(hex(number %% 100000 + 1), 32, '0')), 16), 'environment', 'prod', 1, now64(9), now64(9) FROM numbers(%d)`,
	} {
		if err := p.conn.Exec(context.Background(), fmt.Sprintf(insert, rows)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// BenchmarkReads is the time of whole requests, over HTTP, to a project at rest.
func BenchmarkReads(b *testing.B) {
	p := newPortal(b)
	p.fill(benchRows)
	page := p.get("one", "/api/events?limit=50")
	for _, read := range []struct{ name, path string }{
		{"events", "/api/events"},
		{"events next page", "/api/events?limit=50&cursor=" + page["next_cursor"].(string)},
		{"events of a type", "/api/events?type=error"},
		{"events with a common text", "/api/events?q=error"},
		{"events with a rare text", "/api/events?q=number%20777777%20took"},
		{"events with a rare field", "/api/events?where=fields.user%3D4242"},
		{"histogram", "/api/events/histogram"},
		{"trace", "/api/trace/t1000"},
		{"series", "/api/performance/series?metric=latency"},
		{"groups", "/api/errors/groups"},
		{"group", "/api/errors/groups/" + fingerprint(77)},
	} {
		b.Run(read.name, func(b *testing.B) {
			for b.Loop() {
				r, _ := http.NewRequest(http.MethodGet, p.server.URL+read.path, nil)
				r.Header.Set("Authorization", "Bearer one")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					b.Fatal(resp.Status)
				}
			}
		})
	}
}
