package eventlog

import "errors"

// Errors callers tell apart with errors.Is. Each is wrapped with the topic,
// partition and offset it is about.
var (
	// ErrUnavailable means the log could not be reached or did not answer in
	// time. For Append the set may or may not be in the log. Retry later: over
	// HTTP this is a 503 with Retry-After.
	ErrUnavailable = errors.New("log is unavailable")

	// ErrOverloaded means that the bytes waiting to be appended have reached
	// Config.AppendBudget. Nothing was appended. Over HTTP: 503 with Retry-After.
	ErrOverloaded = errors.New("too many bytes are waiting for the log")

	// ErrTooLarge means that a set does not fit into one record batch. Nothing
	// was appended; a retry fails again. Split the set.
	ErrTooLarge = errors.New("set is larger than a record batch may be")

	// ErrRefused means that the brokers refuse what was asked for a reason that
	// a retry does not mend: missing rights, an invalid timestamp.
	ErrRefused = errors.New("log refused the request")

	// ErrBehindRetention means that the wanted offset was deleted by retention.
	// What lay between is gone: stop and tell a human, never go on from the
	// first offset that is left.
	ErrBehindRetention = errors.New("offset was deleted by retention")

	// ErrPastEnd means that the wanted offset is after the end of the log: the
	// log was truncated or made anew. Stop and tell a human.
	ErrPastEnd = errors.New("offset is past the end of the log")

	// ErrRewritten means that the log holds another record than the one that was
	// read at this offset before: the topic was deleted and made again, or the log
	// was cut short by an unclean leader election, and has grown since. Stop and
	// tell a human.
	ErrRewritten = errors.New("log holds other records than those read before")

	// ErrCorrupt means that fetched bytes are no valid record batch. The error
	// names topic, partition and offset.
	ErrCorrupt = errors.New("log holds bytes that are no valid record batch")

	// ErrStale means that the assignment is no longer the current one: another
	// member may own the partition now. Drop the work and ask for the next
	// assignment; nothing was committed.
	ErrStale = errors.New("assignment is no longer current")

	// ErrUnknownTopic means a topic or partition the log does not know.
	ErrUnknownTopic = errors.New("no such topic or partition")

	// ErrClosed means that the Log was closed.
	ErrClosed = errors.New("log is closed")
)
