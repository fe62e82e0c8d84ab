package webhooks

import (
	"context"
	"time"

	"weir/eventlog"
	"weir/webhooks/signing"
)

// Kinds of endpoints.
const (
	KindHTTP       = "http"
	KindSlack      = "slack"
	KindDiscord    = "discord"
	KindTeams      = "teams"
	KindMattermost = "mattermost"
	KindInternal   = "internal"
)

// Endpoint is a target with all that is needed to call it. What is secret is
// behind functions, so that no verb of fmt prints it.
type Endpoint struct {
	ID, ProjectID string
	Version       int
	Kind          string
	Enabled       bool
	Address       func() string            // the URL
	Shown         string                   // the URL without what is secret in it
	Headers       map[string]func() string // custom ones
	Keys          []SigningKey             // the current one first
	Rate          float64                  // deliveries per second and process; 0: no limit
	Schedule      []time.Duration          // before each retry; nil: the default
	Covers        func(string) bool        // whether it takes an event type; nil: all
	FailingSince  time.Time                // as noted in the control log; zero: it does not
}

// SigningKey is one version of an endpoint's signing secret.
type SigningKey struct {
	ID    string
	Key   signing.Key
	Until time.Time // when it stops signing; zero: the current one
}

// Directory knows endpoints. Safe for concurrent use; all but Wait answer at once.
type Directory interface {
	// Endpoint returns an endpoint as it is now, false when there is none. The
	// error says that its secrets cannot be opened here.
	Endpoint(id string) (*Endpoint, bool, error)

	// Subscribed returns the ids of a project's enabled endpoints that take an
	// event type and existed at a time (zero: now).
	Subscribed(project, eventType string, at time.Time) []string

	// Next is how far the control log is folded; Wait returns once it is folded
	// to next, or with ctx's error.
	Next() int64
	Wait(ctx context.Context, next int64) error
}

// Health takes down what receivers' answers say about an endpoint. Repeating a call
// changes nothing; errors are worth a retry.
type Health interface {
	// Disable ends deliveries to an endpoint; reason is shown.
	Disable(ctx context.Context, id, reason string) error

	// Failing notes since when every attempt failed; zero: one succeeded.
	Failing(ctx context.Context, id string, since time.Time) error
}

// Log is what this package needs of the log; *eventlog.Log is one.
type Log interface {
	Append(ctx context.Context, topic string, partition int, s eventlog.Set) (first int64, err error)
	Fetch(ctx context.Context, topic string, partition int, offset int64, maxBytes int, maxWait time.Duration) (eventlog.Chunk, error)
	Bounds(ctx context.Context, topic string) ([]eventlog.Bounds, error)
	OffsetAt(ctx context.Context, topic string, partition int, t time.Time) (int64, error)
	Partitions(topic string) int
	PartitionFor(topic string, batch [16]byte) int
	Join(ctx context.Context, group string, topics []string) (*eventlog.Membership, error)
	Checkpoints(ctx context.Context, group string, topics []string) (map[eventlog.TopicPartition]eventlog.Checkpoint, error)
}
