package control

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

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
