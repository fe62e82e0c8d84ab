package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// revision of the protocol: the newest that has nothing in it that an INSERT does not need. (With
// the next, a server sends its counters with every answer.) Servers speak older ones than this.
const revision = 54450

// conn is one connection; one goroutine uses it at a time.
type conn struct {
	net.Conn
	in     *proto.Reader
	opened time.Time
	over   bool // it must not be used again
}

// connect opens a connection and says hello.
func connect(ctx context.Context, cfg Config, addr string) (*conn, error) {
	raw, err := cfg.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to ClickHouse at %s: %w", addr, err)
	}
	c := &conn{Conn: raw, in: proto.NewReader(raw), opened: time.Now()}
	if err := c.during(ctx, func() error { return c.hello(cfg) }); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("greet ClickHouse at %s: %w", addr, err)
	}
	return c, nil
}

// during runs fn with ctx's deadline on the connection, and cuts it short when ctx ends. After an
// error the connection is of no more use.
func (c *conn) during(ctx context.Context, fn func() error) error {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	err := fn()
	// When ctx ended it has a deadline in the past by now, even if all came through.
	c.over = !stop() || err != nil
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func (c *conn) hello(cfg Config) error {
	var b proto.Buffer
	proto.ClientHello{
		Name: "weir", Major: 1, ProtocolVersion: revision,
		Database: cfg.Database, User: cfg.Username, Password: cfg.Password,
	}.Encode(&b)
	if _, err := c.Write(b.Buf); err != nil {
		return err
	}
	code, err := c.in.UVarInt()
	if err != nil {
		return err
	}
	switch proto.ServerCode(code) {
	case proto.ServerCodeHello:
		var server proto.ServerHello
		if err := server.DecodeAware(c.in, revision); err != nil {
			return err
		}
		if server.Revision < revision {
			return fmt.Errorf("the server is too old: its protocol has revision %d, needed is %d", server.Revision, revision)
		}
		return nil
	case proto.ServerCodeException:
		return c.exception()
	default:
		return fmt.Errorf("unexpected packet %d", code)
	}
}

// insert sends one block and returns when the server has it, refused it or is gone.
func (c *conn) insert(query string, settings []proto.Setting, parts net.Buffers) error {
	var b proto.Buffer
	proto.Query{
		Body: query, Stage: proto.StageComplete, Compression: proto.CompressionDisabled, Settings: settings,
		Info: proto.ClientInfo{
			ProtocolVersion: revision, Major: 1, Interface: proto.InterfaceTCP, Query: proto.ClientQueryInitial,
			InitialAddress: c.LocalAddr().String(), ClientName: "weir",
		},
	}.EncodeAware(&b, revision)
	b.PutRaw(endOfData()) // no tables beside the query
	if _, err := c.Write(b.Buf); err != nil {
		return err
	}
	// The first answer says that the table is there and takes what is named.
	if err := c.await(proto.ServerCodeData); err != nil {
		return err
	}
	if _, err := parts.WriteTo(c.Conn); err != nil {
		return c.why(err)
	}
	return c.await(proto.ServerCodeEndOfStream)
}

// why is what the server said before it stopped reading, if it did.
func (c *conn) why(cut error) error {
	if err := c.await(proto.ServerCodeEndOfStream); isException(err) {
		return err
	}
	return cut
}

func isException(err error) bool {
	var e *clickhouse.Exception
	return errors.As(err, &e)
}

// await reads packets up to one of a kind.
func (c *conn) await(want proto.ServerCode) error {
	for {
		n, err := c.in.UVarInt()
		if err != nil {
			return answerCut(err)
		}
		code := proto.ServerCode(n)
		if err := c.skip(code); err != nil {
			return err
		}
		if code == want {
			return nil
		}
		if code == proto.ServerCodeEndOfStream {
			return errors.New("ClickHouse ended the insert before it had the block")
		}
	}
}

func answerCut(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("no answer from ClickHouse: %w", err)
}

// skip reads the rest of a packet; an exception is returned.
func (c *conn) skip(code proto.ServerCode) error {
	var err error
	switch code {
	case proto.ServerCodeEndOfStream:
	case proto.ServerCodeException:
		return c.exception()
	case proto.ServerCodeData:
		if _, err = c.in.Str(); err == nil {
			err = new(proto.Block).DecodeBlock(c.in, revision, nil)
		}
	case proto.ServerCodeProgress:
		err = new(proto.Progress).DecodeAware(c.in, revision)
	case proto.ServerCodeProfile:
		err = new(proto.Profile).DecodeAware(c.in, revision)
	case proto.ServerCodeTableColumns:
		err = new(proto.TableColumns).DecodeAware(c.in, revision)
	default:
		return fmt.Errorf("unexpected packet %d from ClickHouse", code)
	}
	if err != nil {
		return answerCut(err)
	}
	return nil
}

// exception reads what the server refuses, as clickhouse-go reports it.
func (c *conn) exception() error {
	var e proto.Exception
	if err := e.DecodeAware(c.in, revision); err != nil {
		return answerCut(err)
	}
	return &clickhouse.Exception{Code: int32(e.Code), Name: e.Name, Message: e.Message, StackTrace: e.Stack}
}
