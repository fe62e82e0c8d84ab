package readmodel

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"weir/internal/clickhouse/chtest"
	"weir/readmodel/tables"
)

// The project that the benchmarks below read.
const (
	benchGroups      = 100_000
	benchOccurrences = 10_000_000
	benchLive        = 4_000     // occurrences a second while events fold
	benchBlock       = 5_000_000 // occurrences folded at once, to be done soon; merges leave the same of smaller ones
)

// benchDatabaseEnv names a database that is filled once and kept for the next
// run, on the server of chtest.AddrEnv: filling takes longer than measuring.
const benchDatabaseEnv = "WEIR_BENCH_DATABASE"

// benchPortal is the read side over a project of benchGroups groups.
func benchPortal(b *testing.B) *portal {
	b.Helper()
	name := os.Getenv(benchDatabaseEnv)
	if name == "" {
		p := newPortal(b)
		p.fillGroups()
		return p
	}
	at := chtest.Access(b)
	cfg := ConnectConfig{Addrs: []string{at.Addr}, Username: at.User, Password: at.Password, Database: "default"}
	server, err := Connect(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	if err := server.Exec(context.Background(), "CREATE DATABASE IF NOT EXISTS "+name); err != nil {
		b.Fatal(err)
	}
	cfg.Database = name
	conn, err := Connect(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	makeTables(b, conn)
	p := newPortalOn(b, conn)
	var there bool
	if err := conn.QueryRow(context.Background(), "SELECT sum(count) >= ? FROM error_groups", benchOccurrences).Scan(&there); err != nil {
		b.Fatal(err)
	}
	if !there {
		p.fillGroups()
	}
	return p
}

// fillGroups makes the occurrences inside the engine and folds them there. Few
// groups have most of them, as in life: the first has 2 %, the last some thirty.
// Every group has words, releases and a service of its own kind.
func (p *portal) fillGroups() {
	p.t.Helper()
	for _, table := range tables.All() {
		if table.Name == "error_occurrences" && os.Getenv("DEVSKIP") != "" {
			continue
		} // a fill that was cut short
		p.exec("TRUNCATE TABLE %s", table.Name)
	}
	p.occurrences(0, benchOccurrences)
	for from := 0; from < benchOccurrences; from += benchBlock {
		p.foldOccurrences(from, from+benchBlock)
	}
}

// occurrences makes those with offsets in [from, to).
func (p *portal) occurrences(from, to int) {
	p.t.Helper()
	p.exec("INSERT INTO error_occurrences (project_id, fingerprint, ts, event_id, received_at, name, message, culprit, release, environment, service, stack, partition, offset) "+
		someOccurrences+" SETTINGS max_threads = 2, max_partitions_per_insert_block = 0", benchGroups, from, to-from)
}

// someOccurrences makes occurrences out of their offsets: %[3]d of them, from %[2]d on.
const someOccurrences = `SELECT 'prj_one' AS project_id, toFixedString(MD5(toString(g)), 16) AS fingerprint, now64(9) - toIntervalMillisecond(greatest(1, (10000000 - number) * 60)) AS ts, toFixedString(MD5(concat('event ', toString(number))), 16) AS event_id, ts AS received_at,
			['TypeError', 'ValueError', 'java.io.IOException', 'RuntimeError', 'Timeout', 'KeyError', 'SQLException'][g %% 7 + 1] AS name,
			concat(['cannot read', 'no such', 'failed to open', 'timed out waiting for', 'unexpected end of'][g %% 5 + 1], ' ',
				['customer', 'invoice', 'session', 'shipment', 'catalogue', 'voucher', 'token', 'cart'][intDiv(g, 5) %% 8 + 1], ' in ',
				['payment', 'search', 'login', 'export', 'billing', 'mail', 'report', 'import'][intDiv(g, 40) %% 8 + 1], ' of handler ', lower(hex(MD5(toString(g)))), ' after ', toString(number %% 97), ' ms') AS message,
			concat('handle', toString(g %% 1009), ' (', ['checkout', 'account', 'stock', 'mail'][g %% 4 + 1], '.go)') AS culprit,
			concat('1.', toString(intDiv(number, 500000)), '.', toString(g %% 3)) AS release, ['prod', 'prod', 'prod', 'staging', 'dev'][number %% 5 + 1] AS environment,
			concat('service-', toString(g %% 40)) AS service, concat('"', repeat(concat('  at handle', toString(g %% 1009), ' (/srv/app/src/', toString(g), '.go:12)\\n'), 8), '"') AS stack, 0 AS partition, number AS offset
		FROM (SELECT number, toUInt32(%[1]d * pow(intHash32(number) / 4294967296, 3)) AS g FROM numbers(%[2]d, %[3]d))`

// foldOccurrences fills the other tables with what a fold makes of the occurrences with offsets in [from, to).
func (p *portal) foldOccurrences(from, to int) {
	p.t.Helper()
	const some = ` FROM (` + someOccurrences + `) `
	for _, insert := range []string{
		`INSERT INTO error_groups SELECT project_id, fingerprint, count(), min(ts), max(ts), max(ts), max((ts, event_id, name, message, culprit, repeat('explained ', 50))), min((ts, release)), max((ts, release))` +
			some + `GROUP BY project_id, fingerprint`,
		`INSERT INTO error_group_facets SELECT project_id, fingerprint, f.1 AS facet, f.2 AS value, count(), min(ts), max(ts), max(ts), if(facet = 'release', value, '') FROM (SELECT
			project_id, fingerprint, ts, arrayJoin([('environment', environment), ('service', service), ('release', release)]) AS f` + some + `) GROUP BY project_id, fingerprint, facet, value`,
		`INSERT INTO error_group_hours SELECT project_id, fingerprint, toDateTime64(toStartOfHour(ts), 0, 'UTC') AS hour, count()` + some + `GROUP BY project_id, fingerprint, hour`,
		`INSERT INTO error_releases SELECT project_id, release, min(ts)` + some + `GROUP BY project_id, release`,
	} {
		p.exec(insert, benchGroups, from, to-from)
	}
}

func (p *portal) exec(sql string, args ...any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := p.conn.Exec(ctx, fmt.Sprintf(sql, args...)); err != nil {
		p.t.Fatal(err)
	}
}

// BenchmarkGroupPage times every way of opening the list of groups and the page
// of one, over HTTP, in a project with 100,000 groups and 10 million
// occurrences: at rest, and while events fold. It reports p50 and p99 in
// milliseconds. Use -benchtime 300x: p99 needs reads, not time.
func BenchmarkGroupPage(b *testing.B) {
	p := benchPortal(b)
	l := p.lists(0)
	began := time.Now()
	p.refresh(l)
	b.Logf("made the list in %v", time.Since(began))
	reads := p.pageReads(b)
	for _, read := range reads {
		b.Run("at rest/"+read.name, func(b *testing.B) { p.time(b, read.path) })
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.keepFolding(ctx, l)
	}()
	for _, read := range reads {
		b.Run("folding/"+read.name, func(b *testing.B) { p.time(b, read.path) })
	}
	stop()
	<-done
	b.Run("at rest/without the list", func(b *testing.B) { p.time(b, "/api/errors/groups", HeaderLogPosition, "error:0:1") })
}

type pageRead struct{ name, path string }

// pageReads are the ways of opening the pages. Paths that change from read to
// read would be fairer to no one: ClickHouse caches no results (use_query_cache is off).
func (p *portal) pageReads(b *testing.B) []pageRead {
	b.Helper()
	const list = "/api/errors/groups"
	group := func(n int) string { sum := md5.Sum([]byte(strconv.Itoa(n))); return hex.EncodeToString(sum[:]) }
	ago := func(d time.Duration) string { return url.QueryEscape(time.Now().UTC().Add(-d).Format(time.RFC3339)) }
	next := func(path string, pages int) string {
		at := path
		for range pages {
			cursor, _ := p.get("one", at)["next_cursor"].(string)
			if cursor == "" {
				b.Fatalf("%s has no further page", at)
			}
			at = path + "&cursor=" + url.QueryEscape(cursor)
		}
		return at
	}
	return []pageRead{
		{"first page", list},
		{"oldest first", list + "?order=asc"},
		{"by count", list + "?sort=count"},
		{"by count asc", list + "?sort=count&order=asc"},
		{"by first seen", list + "?sort=first_seen"},
		{"200 items", list + "?limit=200"},
		{"status unresolved", list + "?status=unresolved"},
		{"status resolved (none)", list + "?status=resolved"},
		{"text in many", list + "?q=invoice"},
		{"text in one", list + "?q=" + group(77777)[:20]},
		{"text in none", list + "?q=nothing%20like%20it"},
		{"text in many by count", list + "?q=invoice&sort=count"},
		{"environment", list + "?environment=prod"},
		{"service", list + "?service=service-7"},
		{"service (none)", list + "?service=service-700"},
		{"release", list + "?release=1.19.2"},
		{"service release environment", list + "?service=service-7&release=1.9.1&environment=dev"},
		{"service by count", list + "?service=service-7&sort=count"},
		{"since an hour", list + "?since=" + ago(time.Hour)},
		{"until yesterday", list + "?until=" + ago(24*time.Hour)},
		{"since until by count", list + "?sort=count&since=" + ago(2*time.Hour) + "&until=" + ago(time.Hour)},
		{"third page", next(list+"?limit=50", 2)},
		{"third page by count", next(list+"?sort=count", 2)},
		{"group of 33", list + "/" + group(99_999)},
		{"group of 3,000", list + "/" + group(1_000)},
		{"group of 200,000", list + "/" + group(0)},
		{"group of 200,000 next occurrences", p.nextOccurrences(list + "/" + group(0))},
	}
}

func (p *portal) nextOccurrences(path string) string {
	page, _ := p.get("one", path)["occurrences"].(map[string]any)
	cursor, _ := page["next_cursor"].(string)
	return path + "?cursor=" + url.QueryEscape(cursor)
}

// keepFolding folds blocks of new occurrences as the projector does when 4,000 a second come in, and keeps the list.
func (p *portal) keepFolding(ctx context.Context, l *GroupLists) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for at := benchOccurrences; ctx.Err() == nil; at += benchLive {
		p.occurrences(at, at+benchLive)
		p.foldOccurrences(at, at+benchLive)
		if err := l.Refresh(ctx); err != nil && ctx.Err() == nil {
			p.t.Error(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (p *portal) time(b *testing.B, path string, headers ...string) {
	var times []time.Duration
	for b.Loop() {
		r, _ := http.NewRequest(http.MethodGet, p.server.URL+path, nil)
		r.Header.Set("Authorization", "Bearer one")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		start := time.Now()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		times = append(times, time.Since(start))
		if resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status)
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}
