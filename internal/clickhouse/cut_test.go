package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
)

// seed is printed, and replayed with WEIR_TEST_SEED.
func seed(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("WEIR_TEST_SEED"), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("WEIR_TEST_SEED=%d", n)
	return n
}

// TestSurvivesItsClients cuts a thousand connections, each at a point of its own: while the greeting
// or a query is sent, while a result or a block of an insert is on its way, by a reset, an orderly
// end or a canceled context; among them are clients that speak another protocol or name a database
// that is not there. The engine goes on in the same process.
func TestSurvivesItsClients(t *testing.T) {
	const cuts, atOnce = 1000, 8
	random := rand.New(rand.NewPCG(seed(t), 0))
	server := start(t, chtest.Config(t, t.TempDir()))
	conn := connect(t, server)
	exec(t, conn, "create table cut (x UInt64, s String) engine MergeTree order by x")
	before := server.PID()

	var clients sync.WaitGroup
	turns := make(chan *rand.Rand)
	for range atOnce {
		clients.Go(func() {
			for random := range turns {
				rudeClients[random.IntN(len(rudeClients))](server, random)
			}
		})
	}
	for range cuts {
		turns <- rand.New(rand.NewPCG(random.Uint64(), 0))
	}
	close(turns)
	clients.Wait()

	if got := one[uint64](t, conn, "select count() from numbers(1000)"); got != 1000 {
		t.Errorf("counted %d, expected 1000", got)
	}
	if server.PID() != before || server.Restarts() != 0 {
		t.Errorf("the engine was process %d and is process %d, after %d restarts", before, server.PID(), server.Restarts())
	}
}

// rudeClients connect, do something and leave without a word. Their errors are what is wanted.
var rudeClients = []func(server *clickhouse.Server, random *rand.Rand){
	func(server *clickhouse.Server, random *rand.Rand) { // in the middle of a large result
		withCut(server, random, func(ctx context.Context, conn driver.Conn) {
			_ = readAll(ctx, conn, "select number, repeat('x', 500) from numbers(50000)")
		})
	},
	func(server *clickhouse.Server, random *rand.Rand) { // while it waits for a result
		withCut(server, random, func(ctx context.Context, conn driver.Conn) {
			_ = readAll(ctx, conn, "select sleepEachRow(0.002), number from numbers(20) settings max_block_size = 1")
		})
	},
	func(server *clickhouse.Server, random *rand.Rand) { // a query that is long in itself
		withCut(server, random, func(ctx context.Context, conn driver.Conn) {
			_ = readAll(ctx, conn, fmt.Sprintf("select count() from numbers(1000) where toString(number) not in ('%0*d')", 1+random.IntN(100_000), 0))
		})
	},
	func(server *clickhouse.Server, random *rand.Rand) { // in the middle of an insert
		withCut(server, random, func(ctx context.Context, conn driver.Conn) {
			batch, err := conn.PrepareBatch(ctx, "insert into cut")
			if err != nil {
				return
			}
			for i := range 2000 {
				_ = batch.Append(uint64(i), "some text")
			}
			_ = batch.Send()
		})
	},
	func(server *clickhouse.Server, random *rand.Rand) { // a database that is not there
		conn, err := ch.Open(&ch.Options{Addr: []string{server.NativeAddr()}, Auth: server.Access().Auth("nowhere")})
		if err == nil {
			_ = conn.Ping(context.Background())
			_ = conn.Close()
		}
	},
	func(server *clickhouse.Server, random *rand.Rand) { // another protocol, or bytes of no protocol
		for _, addr := range []string{server.NativeAddr(), server.HTTPAddr()} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				continue
			}
			text := []byte("GET /?query=select+1 HTTP/1.1\r\nHost: x\r\n\r\n")
			for i := range random.IntN(len(text)) {
				text[i] = byte(random.Uint32())
			}
			_, _ = conn.Write(text)
			hangUp(conn, random)
		}
	},
}

func readAll(ctx context.Context, conn driver.Conn, query string) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	for rows.Next() {
		continue
	}
	return rows.Close()
}

// withCut calls do with a connection that ends at a random point.
func withCut(server *clickhouse.Server, random *rand.Rand, do func(context.Context, driver.Conn)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	left := &budget{toRead: 1 << 40, toWrite: 1 << 40, random: random}
	switch random.IntN(3) {
	case 0:
		left.toRead = spread(random)
	case 1:
		left.toWrite = spread(random)
	default:
		time.AfterFunc(time.Duration(random.IntN(30))*time.Millisecond, cancel)
	}
	conn, err := ch.Open(&ch.Options{
		Addr: []string{server.NativeAddr()}, Auth: server.Access().Auth("default"), MaxOpenConns: 1, DialTimeout: 10 * time.Second,
		DialContext: func(ctx context.Context, addr string) (net.Conn, error) {
			inner, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			return &cutConn{Conn: inner, left: left}, err
		},
	})
	if err != nil {
		return
	}
	defer conn.Close()
	do(ctx, conn)
}

// spread is a number of bytes, small ones as likely as large ones.
func spread(random *rand.Rand) int { return random.IntN(1 << (1 + random.IntN(20))) }

// budget is how much may still be sent and received before the connection is cut.
type budget struct {
	toRead, toWrite int
	random          *rand.Rand
}

// cutConn ends after so many bytes.
type cutConn struct {
	net.Conn
	left *budget
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left.toRead <= 0 {
		hangUp(c.Conn, c.left.random)
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left.toRead)])
	c.left.toRead -= n
	return n, err
}

func (c *cutConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p[:min(len(p), c.left.toWrite)])
	if c.left.toWrite -= n; n < len(p) && err == nil {
		hangUp(c.Conn, c.left.random)
		err = net.ErrClosed
	}
	return n, err
}

// hangUp ends a connection in order, or by a reset.
func hangUp(conn net.Conn, random *rand.Rand) {
	if tcp, ok := conn.(*net.TCPConn); ok && random.IntN(2) == 0 {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// TestCanceledQueryEnds: the engine stops working for a client that has canceled.
func TestCanceledQueryEnds(t *testing.T) {
	conn := chtest.Open(t)
	ctx, cancel := context.WithCancel(ch.Context(context.Background(), ch.WithQueryID(t.Name())))
	ended := make(chan error)
	go func() { ended <- readAll(ctx, conn, "select count() from numbers(1000000000000000)") }()
	running := func() bool {
		return one[uint64](t, conn, "select count() from system.processes where query_id = '"+t.Name()+"'") == 1
	}
	within(t, 30*time.Second, "the query runs", running)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled query ended with %v", err)
	}
	within(t, 30*time.Second, "the query has ended", func() bool { return !running() })
}
