package control

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"weir/eventlog"
	"weir/internal/httpapi"
)

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
