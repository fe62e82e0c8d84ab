package ingest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/ingest/receipts"
)

// Log is what the gateway needs of the log; *eventlog.Log is one. Its methods
// may run at once. Append returns after the whole set is durable, copies the
// values before it returns, and is retried by nobody here: a failed append is a
// 503, and the client retries.
type Log interface {
	receipts.Log

	// Fits says whether a set is small enough to be appended: ErrTooLarge if not.
	Fits(topic string, s eventlog.Set) error
}

// Caller is the project behind a bearer key.
type Caller struct {
	ProjectID string
	KeyID     string // public part of the key, for the log line
	MayIngest bool   // false: the key lacks the scope ingest

	// Secret is the text of the project's webhook secret, all of it, which keys
	// the HMAC. It is read only, and never logged.
	Secret []byte

	// Limits of this project, nil where it has the service's.
	EventsPerSecond  *int
	BatchesPerSecond *int
	BatchBytes       *int64
}

// Directory finds callers. Lookup is called once per request, from many
// goroutines: it compares in constant time and never waits for I/O. False
// means that the bearer is unknown or revoked, or that it has no project to
// ingest into.
type Directory interface {
	Lookup(bearer string) (Caller, bool)
}

// Limiter holds projects to their rates; *limits.Buckets is one, for a single
// process. The methods may run at once and must not wait for I/O.
type Limiter interface {
	// Admit asks whether a batch may pass and takes one batch token.
	Admit(project string, r limits.Rates, now time.Time) limits.Standing
	// Charge counts an admitted batch's events; it may still refuse it.
	Charge(project string, r limits.Rates, events int, now time.Time) limits.Standing
	// Refund takes an Admit and a Charge back.
	Refund(project string, r limits.Rates, events int, now time.Time) limits.Standing
	// Standing takes nothing.
	Standing(project string, r limits.Rates, now time.Time) limits.Standing
}

// Rejections hears of the rejected events of answered batches;
// *rejections.Teller is one. Note may run at once, must not wait, and reads raw,
// one of n events, only during the call. kind is "" when the type is not known.
type Rejections interface {
	Note(project, kind, reason string, n int, raw []byte)
}

// Config of the gateway. Log, Directory and Gateway must be given; every other
// zero value is a sane default, except for Rates.
type Config struct {
	Log       Log
	Directory Directory

	// Gateway is a name that at most one running process bears at a time
	// (printable ASCII, no spaces). Where there is one process by nature, such
	// as with the embedded log, it should be a fixed name: then the claims of a
	// killed process are taken over at once and not after their lease.
	Gateway string

	// Rates of a project without its own; zero turns a rate off.
	// limits.Default is what the specification says.
	Rates limits.Rates

	// Limiter; nil is limits.New().
	Limiter Limiter

	// Rejections is told of rejected events, behind the answer; nil: nobody.
	Rejections Rejections

	// MaxBatchBytes bounds a body as sent and as unpacked (5 MiB), unless its
	// project has a limit of its own.
	MaxBatchBytes int

	// BytesInFlight bounds the memory of all bodies together (256 MiB, at
	// least 4 bodies). Over it requests are shed before their body is read.
	BytesInFlight int64

	// Outside, if given, is how many bytes of BytesInFlight are taken by others
	// at the moment, such as idle connections. It is called for each request.
	Outside func() int64

	// BodyGrace and BodyRate bound how slowly a body may come: it has BodyGrace
	// (10 s) and beyond that must have come at BodyRate bytes a second (32 KiB).
	BodyGrace time.Duration
	BodyRate  int

	// AppendTimeout is how long the log may take (10 s); then it is a 503.
	AppendTimeout time.Duration

	// ClaimLease is how long a gateway that fell silent keeps an idempotency
	// key (45 s). It must be longer than twice AppendTimeout plus the time the
	// log goes on trying after a caller gave up.
	ClaimLease time.Duration

	Now        func() time.Time      // nil: time.Now
	Logger     *slog.Logger          // nil: none
	Registerer prometheus.Registerer // nil: none
}

// The specification's size limit and our defaults.
const (
	DefaultMaxBatchBytes = 5 << 20
	DefaultBytesInFlight = 256 << 20
	defaultBodyGrace     = 10 * time.Second
	defaultBodyRate      = 32 << 10
	defaultAppendTimeout = 10 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Log == nil || c.Directory == nil:
		return c, errors.New("ingest: a log and a directory must be given")
	case c.MaxBatchBytes < 0 || c.BytesInFlight < 0 || c.BodyRate < 0:
		return c, errors.New("ingest: a size or rate is negative: leave it zero for the default")
	}
	or(&c.MaxBatchBytes, DefaultMaxBatchBytes)
	or(&c.BytesInFlight, DefaultBytesInFlight)
	c.BytesInFlight = max(c.BytesInFlight, 4*int64(c.MaxBatchBytes))
	or(&c.BodyGrace, defaultBodyGrace)
	or(&c.BodyRate, defaultBodyRate)
	or(&c.AppendTimeout, defaultAppendTimeout)
	if c.Limiter == nil {
		c.Limiter = limits.New()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func or[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

func (c Config) rates(caller *Caller) limits.Rates {
	r := c.Rates
	if caller.EventsPerSecond != nil {
		r.EventsPerSecond = *caller.EventsPerSecond
	}
	if caller.BatchesPerSecond != nil {
		r.BatchesPerSecond = *caller.BatchesPerSecond
	}
	return r
}

// batchBytes is the size limit of a caller's batches. However large a project's
// own is, four of its bodies fit into memory.
func (c Config) batchBytes(caller *Caller) int {
	if caller.BatchBytes == nil {
		return c.MaxBatchBytes
	}
	return int(min(max(*caller.BatchBytes, 0), c.BytesInFlight/4))
}

// topics are the names of the events topics by type, made once.
var topics = eventlog.EventsTopics()

// detached keeps a begun append going when its client goes away: what was
// begun is ended, so that a repeat finds it.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
