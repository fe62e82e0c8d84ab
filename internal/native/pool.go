package native

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go/proto"
)

const (
	dialTimeout = 2 * time.Second
	// connectionAge is how old a connection gets, so that a balancer before ClickHouse can move us.
	connectionAge = 10 * time.Minute
	// idleConns are kept open.
	idleConns = 16
)

// Config says where ClickHouse is.
type Config struct {
	Addrs    []string // host:port of the native protocol; the first that answers is used
	Database string
	Username string // empty for the embedded engine, which has no users
	Password string
	TLS      *tls.Config // nil is none
	// Dial replaces the network dial, TLS included; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Pool keeps connections. Its methods may be called at once from everywhere.
type Pool struct {
	cfg Config

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

// ErrClosed means that the pool was closed.
var ErrClosed = errors.New("the pool is closed")

// Open makes a pool. It connects when there is something to insert.
func Open(cfg Config) *Pool {
	cfg.Username = cmp.Or(cfg.Username, "default") // an empty one, the embedded engine does not survive
	cfg.Database = cmp.Or(cfg.Database, "default")
	if cfg.Dial == nil {
		dialer := net.Dialer{Timeout: dialTimeout}
		cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }
		if cfg.TLS != nil {
			secured := tls.Dialer{NetDialer: &dialer, Config: cfg.TLS}
			cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return secured.DialContext(ctx, "tcp", addr) }
		}
	}
	return &Pool{cfg: cfg}
}

// Insert sends query, an INSERT INTO … (columns in their order), with the block of these columns,
// and returns nil when the server has taken it. As a *clickhouse.Exception it says what the
// server refused. After any other error the block may be in the table or not.
//
// The columns must not change before it returns; then they are the caller's again.
func (p *Pool) Insert(ctx context.Context, query string, settings map[string]string, columns []Column, rows int) error {
	parts, err := block(columns, rows)
	if err != nil {
		return err
	}
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	if err := c.during(ctx, func() error { return c.insert(query, wire(settings), parts) }); err != nil {
		_ = c.Close()
		if !isException(err) {
			p.forget() // whatever cut this one has cut the others, too
		}
		return err
	}
	p.put(c)
	return nil
}

func wire(settings map[string]string) []proto.Setting {
	all := make([]proto.Setting, 0, len(settings))
	for name, value := range settings {
		all = append(all, proto.Setting{Key: name, Value: value, Important: true})
	}
	return all
}

// take is an idle connection or a new one.
func (p *Pool) take(ctx context.Context) (*conn, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		if len(p.idle) == 0 {
			p.mu.Unlock()
			return p.dial(ctx)
		}
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		p.mu.Unlock()
		if time.Since(c.opened) < connectionAge {
			return c, nil
		}
		_ = c.Close()
	}
}

func (p *Pool) dial(ctx context.Context) (*conn, error) {
	var failed []error
	for _, addr := range p.cfg.Addrs {
		c, err := connect(ctx, p.cfg, addr)
		if err == nil {
			return c, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(failed) == 0 {
		return nil, fmt.Errorf("no address of ClickHouse was given")
	}
	return nil, errors.Join(failed...)
}

func (p *Pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.over || len(p.idle) >= idleConns {
		_ = c.Close()
		return
	}
	p.idle = append(p.idle, c)
}

// forget closes all idle connections.
func (p *Pool) forget() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}

// Close closes idle connections now, and those in use when their insert has ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.forget()
}
