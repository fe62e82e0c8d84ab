package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"weir/eventlog"
	"weir/internal/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var admin = httpapi.Principal{Admin: true}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestProjectLife(t *testing.T) {
	ctx, log := deadline(t), newMemLog()
	here, there := startNode(t, log), startNode(t, log)
	made, err := here.CreateProject(ctx, admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := there.dir.Wait(ctx, here.dir.Next()); err != nil {
		t.Fatal(err)
	}
	c, ok := there.dir.Lookup(made.APIKey.Reveal())
	if !ok || c.ProjectID != made.Project.ID || c.KeyID != made.KeyID || c.Scopes != httpapi.ScopeAll || c.Admin || c.Operator {
		t.Fatalf("the other node knows it as %+v, %v", c, ok)
	}
	if string(c.SigningKey()) != made.WebhookSecret.Reveal() {
		t.Error("the signing key must be the whole text of the webhook secret")
	}

	change := Change{Name: ptr("store"), Operator: ptr(true), Limits: map[string]Limit{limitEvents: Is(5)}}
	p, err := here.ChangeProject(ctx, admin, made.Project.ID, change)
	if err != nil || p.Name != "store" || !p.Operator || p.Limits.EventsPerSecond != Is(5) {
		t.Errorf("changed to %+v, %v", p, err)
	}
	if c, _ := here.dir.Lookup(made.APIKey.Reveal()); !c.Operator || c.Limits.EventsPerSecond.Or(1000) != 5 || c.Limits.BatchesPerSecond.Or(100) != 100 {
		t.Errorf("the caller has %+v", c)
	}

	second, err := here.CreateKey(ctx, c.Principal(), made.Project.ID, "ci", httpapi.ScopeIngest)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := here.dir.Lookup(second.APIKey.Reveal()); !ok || c.Scopes != httpapi.ScopeIngest {
		t.Errorf("the new key is %+v, %v", c, ok)
	}
	if err := here.RevokeKey(ctx, admin, made.Project.ID, made.KeyID); err != nil {
		t.Fatal(err)
	}
	if _, ok := here.dir.Lookup(made.APIKey.Reveal()); ok {
		t.Error("a revoked key was taken")
	}
	if _, ok := here.dir.Lookup(second.APIKey.Reveal()); !ok {
		t.Error("revoking one key must leave the other")
	}
	if err := here.ApplyTenantLimit(ctx, made.Project.ID, made.Project.ID, 77); err != nil {
		t.Fatal(err)
	}
	if p, _ := here.dir.Project(made.Project.ID); p.Limits.EventsPerSecond != Is(77) {
		t.Errorf("limits are %+v", p.Limits)
	}
}

func TestLookupRefuses(t *testing.T) {
	ctx, log := deadline(t), newMemLog()
	c := startNode(t, log)
	made, err := c.CreateProject(ctx, admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	text := made.APIKey.Reveal()
	forged := text[:keyIDEnd] + randomBase62(keySecretLen)
	unknown := keyPrefix + randomBase62(keyIDLen+keySecretLen)
	for name, bearer := range map[string]string{
		"nothing": "", "prefix": keyPrefix, "cut": text[:len(text)-1], "longer": text + "0", "spaces": " " + text,
		"upper case": strings.ToUpper(text), "right id, wrong secret": forged + keyChecksum(forged),
		"unknown id": unknown + keyChecksum(unknown), "wrong checksum": text[:keyBodyEnd] + "000000",
		"the webhook secret": made.WebhookSecret.Reveal(), "the project": made.Project.ID,
		"long": strings.Repeat("x", 1<<20), "half the admin token": testAdminToken.Reveal()[:20], "NUL": "\x00",
	} {
		if _, ok := c.dir.Lookup(bearer); ok {
			t.Errorf("%s was taken", name)
		}
	}
	if p, ok := c.dir.Authenticate(testAdminToken.Reveal()); !ok || !p.Admin {
		t.Error("the admin token was refused")
	}
	nobody := startNode(t, log, func(cfg *Config) { cfg.AdminToken = Secret{} })
	if _, ok := nobody.dir.Lookup(""); ok {
		t.Error("without an admin token nobody is admin")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	c := startNode(t, newMemLog())
	made, err := c.CreateProject(deadline(t), admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	good, wrong := made.APIKey.Reveal(), newAPIKey().text.Reveal()
	for name, bearer := range map[string]string{"good": good, "unknown": wrong, "malformed": good[1:], "admin": testAdminToken.Reveal()} {
		if n := testing.AllocsPerRun(100, func() {
			caller, _ := c.dir.Lookup(bearer)
			_ = caller.SigningKey()
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	c := startNode(b, newMemLog())
	made, err := c.CreateProject(deadline(b), admin, "shop")
	if err != nil {
		b.Fatal(err)
	}
	bearer := made.APIKey.Reveal()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := c.dir.Lookup(bearer); !ok {
				b.Error("refused")
			}
		}
	})
}

// TestLookupRacesWithChanges runs readers against everything that changes
// what they see; the race detector is the judge, and a key that was never
// touched must be known all along.
func TestLookupRacesWithChanges(t *testing.T) {
	ctx := deadline(t)
	c := startNode(t, newMemLog())
	made, err := c.CreateProject(ctx, admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if caller, ok := c.dir.Lookup(made.APIKey.Reveal()); !ok || string(caller.SigningKey()) != made.WebhookSecret.Reveal() {
					t.Error("a key nobody touched was refused")
					return
				}
				c.dir.Projects("", 10)
			}
		})
	}
	for i := range 4 {
		writers.Go(func() {
			for n := range 25 {
				k, err := c.CreateKey(ctx, admin, made.Project.ID, "", httpapi.ScopeRead)
				if err == nil {
					_, err = c.ChangeProject(ctx, admin, made.Project.ID, Change{Limits: map[string]Limit{limitEvents: Is(int64(100*i + n))}})
				}
				if err == nil {
					err = c.RevokeKey(ctx, admin, made.Project.ID, k.Key.ID)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

// TestOddRecordsAreLeftOut puts what no node of this version writes into the log.
func TestOddRecordsAreLeftOut(t *testing.T) {
	log, out := newMemLog(), &lockedBuffer{}
	log.appendRaw("", "\xff", `{"v":9,"kind":"x"}`, `{"v":1,"kind":"quota.set","project":"p","data":{}}`,
		`{"v":1,"kind":"key.revoked","project":"p","data":{"id":"hunter2"}}`, `{"v":1,"kind":"project.renamed","project":"p","data":{"name":"x"}}`)
	reg := prometheus.NewRegistry()
	c := startNode(t, log, func(cfg *Config) { cfg.Registerer, cfg.Logger = reg, slog.New(slog.NewTextHandler(out, nil)) })
	if _, err := c.CreateProject(deadline(t), admin, "after"); err != nil {
		t.Fatal(err)
	}
	for reason, want := range map[error]float64{errUndecodable: 2, errNewerVersion: 1, errUnknownKind: 1, errNoKey: 1, errNoProject: 1} {
		if got := testutil.ToFloat64(c.dir.metrics.ignored.WithLabelValues(reason.Error())); got != want {
			t.Errorf("%v: counted %v, want %v", reason, got, want)
		}
	}
	if text := out.String(); !strings.Contains(text, "offset=4") || strings.Contains(text, "hunter2") {
		t.Errorf("a log line per record, by place and not by content:\n%s", text)
	}
	if n, err := testutil.GatherAndCount(reg); err != nil || n == 0 {
		t.Errorf("%d metrics, %v", n, err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestFailedAppends makes the log fail both ways: not applied, and applied though it said it failed.
func TestFailedAppends(t *testing.T) {
	ctx, log := deadline(t), newMemLog()
	c := startNode(t, log)
	for _, applied := range []bool{false, true} {
		made, err := c.CreateProject(ctx, admin, "shop")
		if err != nil {
			t.Fatal(err)
		}
		log.mu.Lock()
		log.fail = []appendFault{{fmt.Errorf("produce: %w", eventlog.ErrUnavailable), applied}}
		log.mu.Unlock()
		k, err := c.CreateKey(ctx, admin, made.Project.ID, "", httpapi.ScopeRead)
		p := httpapi.ProblemOf(err)
		if err == nil || p.Code != httpapi.CodeUnavailable || p.RetryAfter == 0 || !k.APIKey.Empty() {
			t.Fatalf("got %v", err)
		}
		log.mu.Lock()
		log.fail = []appendFault{{eventlog.ErrUnavailable, applied}}
		log.mu.Unlock()
		if err := c.RevokeKey(ctx, admin, made.Project.ID, made.KeyID); err == nil {
			t.Fatal("no error")
		}
		if err := c.RevokeKey(ctx, admin, made.Project.ID, made.KeyID); err != nil {
			t.Fatal(err)
		}
		if err := c.dir.Wait(ctx, int64(len(log.snapshot()))); err != nil {
			t.Fatal(err)
		}
		keys, _ := c.dir.Keys(made.Project.ID, "", 10)
		if want := map[bool]int{false: 1, true: 2}[applied]; len(keys) != want {
			t.Errorf("applied %v: %d keys", applied, len(keys))
		}
	}
}

func TestFollowerSurvivesFaultsAndStopsAtLoss(t *testing.T) {
	log := newMemLog()
	fails := 2
	log.fetchOf = func(int64) error {
		if fails--; fails >= 0 {
			return eventlog.ErrUnavailable
		}
		return nil
	}
	c := startNode(t, log)
	if got := testutil.ToFloat64(c.dir.metrics.failures); got != 2 {
		t.Errorf("%v failures", got)
	}
	for _, final := range []error{eventlog.ErrBehindRetention, eventlog.ErrPastEnd, eventlog.ErrCorrupt} {
		lost := newMemLog()
		lost.fetchOf = func(int64) error { return fmt.Errorf("fetch: %w", final) }
		d, err := NewDirectory(Config{Log: lost, Keyring: testKeyring(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(deadline(t)); !errors.Is(err, final) {
			t.Errorf("%v: Run gave %v", final, err)
		}
	}
}

func TestWrongMasterKeyIsSafeAndLoud(t *testing.T) {
	ctx, log, out := deadline(t), newMemLog(), &lockedBuffer{}
	made, err := startNode(t, log).CreateProject(ctx, admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	other, _ := NewKeyring(NewSecret(strings.Repeat("o", MasterKeyLen)))
	c := startNode(t, log, func(cfg *Config) { cfg.Keyring, cfg.Logger = other, slog.New(slog.NewTextHandler(out, nil)) })
	caller, ok := c.dir.Lookup(made.APIKey.Reveal())
	if !ok || len(caller.SigningKey()) < 32 || string(caller.SigningKey()) == made.WebhookSecret.Reveal() {
		t.Error("the key is known, and nothing may match its signature")
	}
	if c.dir.UnreadableSecrets() != 1 || !strings.Contains(out.String(), "master key") {
		t.Errorf("%d unreadable, log %s", c.dir.UnreadableSecrets(), out)
	}
}

// TestFoldIsTheSameEverywhere folds one random history, sensible or not, whole,
// in pieces cut anywhere, and again after a restart; readers must see the same.
func TestFoldIsTheSameEverywhere(t *testing.T) {
	ring := testKeyring(t)
	rapid.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		whole, pieces := newTestDirectory(t, ring), newTestDirectory(t, ring)
		whole.take(eventlog.Chunk{Records: records, Next: int64(len(records)), HighWatermark: int64(len(records))})
		for at := 0; at < len(records); {
			to := rapid.IntRange(at+1, len(records)).Draw(t, "to")
			// Whatever end the log seemed to have: earlier is readable, too.
			end := rapid.IntRange(to, len(records)).Draw(t, "end")
			pieces.take(eventlog.Chunk{Records: records[at:to], Next: int64(to), HighWatermark: int64(end)})
			at = to
		}
		if !reflect.DeepEqual(whole.state, pieces.state) {
			t.Fatalf("states differ:\n%+v\n%+v", whole.state, pieces.state)
		}
		if a, b := shown(whole), shown(pieces); !reflect.DeepEqual(a, b) {
			t.Fatalf("readers see\n%v\n%v", a, b)
		}
		live := 0
		for _, k := range whole.state.keys {
			if k.revoked.IsZero() {
				live++
			}
		}
		if len(shown(whole)) != live {
			t.Fatalf("%d keys shown, %d live", len(shown(whole)), live)
		}
	})
}

func newTestDirectory(t *rapid.T, ring *Keyring) *Directory {
	d, err := NewDirectory(Config{Log: newMemLog(), Keyring: ring})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// drawRecords draws from few ids, so that events meet, and adds bytes that are no event.
func drawRecords(t *rapid.T) []eventlog.Record {
	project := rapid.SampledFrom([]string{"prj_a", "prj_b", "prj_c"})
	keyID := rapid.SampledFrom([]string{keyA, keyB, "CCCCCCCCCCCC", "bad"})
	name := rapid.SampledFrom([]string{"x", "y", ""})
	limit := rapid.Custom(func(t *rapid.T) Limit {
		return Limit{rapid.Int64Range(-1, 5000).Draw(t, "n"), rapid.Bool().Draw(t, "set")}
	})
	data := rapid.Custom(func(t *rapid.T) fact {
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1:
			return projectCreated{name.Draw(t, "name")}
		case 2:
			return projectRenamed{name.Draw(t, "name")}
		case 3:
			return secretSet{rapid.SampledFrom([]string{"", "s1.x.y", "z"}).Draw(t, "sealed")}
		case 4:
			return operatorSet{rapid.Bool().Draw(t, "operator")}
		case 5:
			return limitsSet{rapid.MapOf(rapid.SampledFrom([]string{limitEvents, limitBatches, limitBytes, "other"}), limit).Draw(t, "limits")}
		case 6:
			return keyRevoked{keyID.Draw(t, "key")}
		}
		k := aKey(keyID.Draw(t, "key"), rapid.SliceOfN(rapid.SampledFrom([]string{"ingest", "read", "manage", "fly"}), 0, 3).Draw(t, "scopes")...)
		k.SHA256[0] = rapid.Byte().Draw(t, "hash")
		return k
	})
	value := rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		v, err := on(project.Draw(t, "project"), data.Draw(t, "data")).encode()
		if err != nil {
			t.Fatal(err)
		}
		return v
	})
	var records []eventlog.Record
	for i, v := range rapid.SliceOfN(value, 1, 60).Draw(t, "values") {
		records = append(records, eventlog.Record{Offset: int64(i), Value: v})
	}
	return records
}

// shown is what Lookup would find, key by key; an unreadable secret is random, so it is left out.
func shown(d *Directory) map[string]Caller {
	out := map[string]Caller{}
	for i := range d.index.shards {
		for id, k := range *d.index.shards[i].Load() {
			p := k.project.Load()
			out[id+fmt.Sprint(k.hash[0])] = Caller{ProjectID: p.id, KeyID: k.id, Scopes: k.scopes, Operator: p.operator, Limits: p.limits}
		}
	}
	return out
}

func TestNewDirectoryNeedsItsParts(t *testing.T) {
	ring := testKeyring(t)
	for _, cfg := range []Config{{}, {Log: newMemLog()}, {Keyring: ring}, {Log: newMemLog(), Keyring: ring, AdminToken: NewSecret("short")},
		{Log: newMemLog(), Keyring: ring, AdminToken: NewSecret(strings.Repeat("x", maxBearer+1))}} {
		if _, err := NewDirectory(cfg); err == nil {
			t.Errorf("%v: no error", cfg)
		}
	}
}

func TestCommandsWaitForReady(t *testing.T) {
	d, err := NewDirectory(Config{Log: newMemLog(), Keyring: testKeyring(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewCommands(d).CreateProject(deadline(t), admin, "x"); err == nil || httpapi.ProblemOf(err).Code != httpapi.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
