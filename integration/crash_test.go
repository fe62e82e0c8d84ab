package integration

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	engine "weir/internal/clickhouse"
)

// Everything answered 200 is there exactly once, however often the server is killed. With
// idempotency keys each batch is tried until it is answered, so everything sent is there.
func TestCrashWithIdempotencyKeys(t *testing.T) { crash(t, true) }

// Without keys nobody can know of an unanswered batch whether it was taken; what was answered 200
// is there once, and no unanswered one twice.
func TestCrashWithoutKeys(t *testing.T) { crash(t, false) }

func crash(t *testing.T, keyed bool) {
	rng, seed := seeded(t)
	kills, total := sized(5, 20), sized(20_000, 100_000)
	s := serve(t, unlimited...)
	who := s.project("crash")
	l := &load{seed: seed, total: total, largest: sized(120, 200), keyed: keyed, who: who, ledger: &ledger{},
		bases: func() []string { return []string{s.base()} }}
	began := time.Now()
	wait := l.start(context.Background())
	for n := range kills {
		l.ledger.reaches(t, total*(n+1)/(kills+2))
		s.kill()
		killSome(t, rng, s)
		s.start()
	}
	wait()
	t.Logf("%d events from %d clients through %d kills in %v", total, clients, kills, time.Since(began).Round(time.Millisecond))
	singleWitness(t, s, who, l.ledger, seed, keyed).verify()
	if !keyed { // read models are a function of the log: without them it is folded again
		s.kill()
		nothingLeft(t, s, 10*time.Second)
		if err := os.RemoveAll(filepath.Join(s.data, "clickhouse")); err != nil {
			t.Fatal(err)
		}
		s.start()
		singleWitness(t, s, who, l.ledger, seed, keyed).verify()
	}
	s.stop(syscall.SIGINT)
	nothingLeft(t, s, time.Second)
}

// killSome kills, every third time, a server that is still starting, at any moment of its start.
func killSome(t *testing.T, rng *rand.Rand, s *server) {
	t.Helper()
	if rng.IntN(3) > 0 {
		return
	}
	r := s.launch()
	moment := time.NewTimer(time.Duration(rng.Int64N(int64(1500 * time.Millisecond))))
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-r.process.Ended():
		t.Errorf("the server ended by itself while it was starting: %v\n%s", r.process.Err(), r.out.end())
	}
	s.kill()
}

// singleWitness compares the ledger with a server on embedded engines.
func singleWitness(t *testing.T, s *server, who credentials, l *ledger, seed uint64, exactly bool) *witness {
	t.Helper()
	d := s.doctor()
	return &witness{t: t, server: s, who: who, admin: adminToken(t, s), brokers: d.Log.Brokers, ledger: l, seed: seed, exactly: exactly,
		clickHouse: askClickHouse(t, embeddedAccess(t, s, d.ClickHouse.Native), "weir")}
}

// embeddedAccess is how to get into a server's own ClickHouse.
func embeddedAccess(t testing.TB, s *server, native string) engine.Access {
	t.Helper()
	password, err := os.ReadFile(engine.PasswordFile(filepath.Join(s.data, "clickhouse")))
	if err != nil {
		t.Fatal(err)
	}
	return engine.Access{Addr: native, User: engine.User, Password: strings.TrimSpace(string(password))}
}

func adminToken(t testing.TB, s *server) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.data, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}
