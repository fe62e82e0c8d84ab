package integration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/eventlog/eventlogtest"
	"weir/integration/engines"
)

// Apache Kafka with three brokers keeps every promise that the embedded log keeps, and the
// service on it loses and doubles nothing while parts of it are killed.
func TestApacheKafka(t *testing.T) {
	began := time.Now()
	kafka := engines.Kafka(t, 3)
	t.Logf("three brokers after %v", time.Since(began).Round(time.Millisecond))
	t.Run("Conformance", func(t *testing.T) { eventlogtest.Run(t, kafka.Brokers()) })
	t.Run("KilledUnderLoad", func(t *testing.T) { killedUnderLoad(t, kafka) })
}

// cluster is the service taken apart.
type cluster struct {
	gateways, projectors []*server
	reader               *server
	token                string
	database             string
	clickHouse           *engines.ClickHouseServer
}

func (c *cluster) all() []*server {
	return append(append([]*server{c.reader}, c.gateways...), c.projectors...)
}

// takeApart starts two gateways, two projectors and a reader, each a process of its own.
func takeApart(t *testing.T, rng *rand.Rand, kafka *engines.KafkaCluster) *cluster {
	t.Helper()
	c := &cluster{clickHouse: engines.ClickHouse(t), database: fmt.Sprintf("weir_%x", rng.Uint64()), token: uuid(rng)}
	at := c.clickHouse.Access()
	master := make([]byte, 32)
	for i := range master {
		master[i] = byte(rng.Uint32())
	}
	env := append([]string{
		"WEIR_KAFKA_BROKERS=" + strings.Join(kafka.Brokers(), ","), "WEIR_CLICKHOUSE_ADDR=" + at.Addr,
		"WEIR_CLICKHOUSE_USER=" + at.User, "WEIR_CLICKHOUSE_PASSWORD=" + at.Password,
		"WEIR_CLICKHOUSE_DATABASE=" + c.database, "WEIR_ADMIN_TOKEN=" + c.token,
		"WEIR_MASTER_KEY=" + base64.StdEncoding.EncodeToString(master),
	}, unlimited...)
	role := func(name, role string) *server {
		s := newServer(t, name, env...)
		s.args = []string{"--roles", role}
		return s
	}
	c.reader = role("reader", "read")
	for n := range 2 {
		c.gateways = append(c.gateways, role(fmt.Sprintf("gateway %d", n+1), "ingest"))
		c.projectors = append(c.projectors, role(fmt.Sprintf("projector %d", n+1), "project"))
	}
	var starting sync.WaitGroup
	for _, s := range c.all() {
		r := s.launch()
		starting.Go(func() {
			if err := s.up(r); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

func killedUnderLoad(t *testing.T, kafka *engines.KafkaCluster) {
	rng, seed := seeded(t)
	c := takeApart(t, rng, kafka)
	who := c.reader.project("cluster")
	rounds, total := sized(1, 5), sized(10_000, 100_000)
	l := &load{seed: seed, total: total, largest: sized(60, 200), keyed: true, who: who, ledger: &ledger{},
		bases: func() []string { return []string{c.gateways[0].base(), c.gateways[1].base()} }}
	began := time.Now()
	wait := l.start(context.Background())
	step := 0
	next := func() { // at even distances in the load, each fault hits a cluster that answers again
		step++
		l.ledger.reaches(t, total*step/(4*rounds+1))
	}
	for range rounds {
		next()
		broker := rng.IntN(3)
		t.Logf("%v: broker %d is killed", time.Since(began).Round(time.Millisecond), broker+1)
		kafka.Kill(broker)
		next()
		restart(t, began, pick(rng, c.gateways))
		next()
		restart(t, began, pick(rng, c.projectors))
		next()
		kafka.Restart(broker)
		t.Logf("%v: broker %d is back", time.Since(began).Round(time.Millisecond), broker+1)
	}
	for _, name := range rebuildable { // through two projectors, while events arrive
		eventually(t, time.Minute, "rebuilding "+name, func() error {
			o := weir(t, c.reader.env, "rebuild", name, "--no-wait", "--server", c.reader.base())
			if o.code != 0 {
				return errors.New(o.stderr)
			}
			return nil
		})
	}
	wait()
	rebuilt(t, c.reader, c.token, 2)
	t.Logf("%v: every read model is rebuilt", time.Since(began).Round(time.Millisecond))
	t.Logf("%d events from %d clients in %v", total, clients, time.Since(began).Round(time.Millisecond))
	w := &witness{t: t, server: c.reader, who: who, admin: c.token, brokers: kafka.Brokers(), ledger: l.ledger, seed: seed, exactly: true,
		clickHouse: askClickHouse(t, c.clickHouse.Access(), c.database)}
	w.verify()
	for _, s := range c.all() {
		s.stop(syscall.SIGTERM)
	}
}

// restart kills a process under load and starts it again.
func restart(t *testing.T, began time.Time, s *server) {
	t.Helper()
	t.Logf("%v: %s is killed", time.Since(began).Round(time.Millisecond), s.name)
	s.kill()
	s.start()
}
