package eventlog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

const (
	// metadataAge is the oldest the view of the cluster gets, a second on
	// average: so long can a new leader go unnoticed.
	metadataAge = 2 * time.Second

	// dialTimeout is short, so that a dead broker leaves time for the others.
	dialTimeout = 2 * time.Second

	// keepAlive finds connections whose other end is gone without a word.
	keepAlive = 15 * time.Second
)

func newTransport(cfg Config, conns *connections, topics []string) *kafka.Transport {
	return &kafka.Transport{
		Dial:           conns.dialTracked,
		DialTimeout:    2*dialTimeout + time.Second,
		IdleTimeout:    time.Minute,
		MetadataTTL:    metadataAge,
		MetadataTopics: topics,
		ClientID:       cfg.ClientID,
		TLS:            cfg.Access.TLS,
	}
}

// exchange sends a hand-written request and returns the body of its answer.
func (l *Log) exchange(ctx context.Context, m protocol.Message, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := l.transport.RoundTrip(ctx, l.addr, m)
	if err != nil {
		return nil, err
	}
	r, ok := answer.(*reply)
	if !ok {
		return nil, fmt.Errorf("%w: %T", errReply, answer)
	}
	return r.body, nil
}

// codeError is the error of a broker's error code, nil for 0.
func codeError(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}

const (
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// backoff waits longer from time to time, with jitter.
type backoff struct{ step time.Duration }

// wait returns ctx's error when it ends first.
func (b *backoff) wait(ctx context.Context) error {
	b.step = min(max(2*b.step, shortestPause), longestPause)
	timer := time.NewTimer(b.step/2 + rand.N(b.step/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *backoff) reset() { b.step = 0 }
