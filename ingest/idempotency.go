package ingest

import (
	"context"
	"errors"
	"time"

	"weir/eventlog"
	"weir/ingest/receipts"
	"weir/internal/httpapi"
)

// headerIdempotency and headerReplayed are spelled as net/http keys them.
const (
	headerIdempotency = "X-Service-Idempotency-Key"
	headerReplayed    = "Idempotent-Replayed"
)

// lookUpKey answers a repeat. It waits for batches with the same key that are
// under way; when it returns nil without an answer, this request has the key.
func (q *request) lookUpKey() error {
	values, given := q.r.Header[headerIdempotency]
	if !given {
		return nil
	}
	id, ok := [16]byte{}, false
	if len(values) == 1 {
		id, ok = receipts.ParseUUID(values[0])
	}
	if !ok {
		return httpapi.Errorf(httpapi.CodeInvalidIdempotency, "send %s once, as a UUID such as 123e4567-e89b-12d3-a456-426614174000", headerIdempotency)
	}
	flight, answer, err := q.h.book.Begin(q.r.Context(), receipts.Key{Project: q.caller.ProjectID, UUID: id})
	if err != nil {
		return q.logFault(err)
	}
	if answer != nil {
		q.standing = q.h.cfg.Limiter.Standing(q.caller.ProjectID, q.rates, q.h.cfg.Now())
		q.replay(*answer)
		return nil
	}
	q.flight = flight
	return nil
}

// retryKey is the longest Retry-After of a key that is under way: its lease may
// last longer, but its receipt can come at any time.
const retryKey = 5 * time.Second

// mostAnswer is the longest answer that is kept for repeats. Only a batch of
// very many tiny broken events has a longer one.
const mostAnswer = 8 << 20

// claimKey makes this gateway the owner of the key, or answers with what
// another one was faster to.
func (q *request) claimKey() error {
	if q.flight == nil {
		q.claim.Batch = newBatchID(q.received)
		return nil
	}
	if len(q.response) > mostAnswer {
		return httpapi.Errorf(httpapi.CodeBatchTooLarge,
			"the batch has too many rejected events for an answer that can be kept under its idempotency key: split it, or correct it")
	}
	ctx, cancel := detached(q.r.Context(), q.h.cfg.AppendTimeout)
	defer cancel()
	claim, answer, err := q.flight.Claim(ctx, q.intent())
	if err != nil {
		return q.logFault(err)
	}
	if answer != nil {
		q.refund()
		q.replay(*answer)
		return nil
	}
	q.claim = claim
	q.flight.Sending()
	return nil
}

func (q *request) intent() receipts.Intent {
	in := receipts.Intent{Digest: q.digest, Answer: q.response}
	for _, t := range q.types {
		in.Topics = append(in.Topics, topics[t])
	}
	return in
}

// settleKey writes the receipt; only then may the batch be answered.
func (q *request) settleKey() error {
	if q.flight == nil {
		return nil
	}
	q.flight.Sent()
	ctx, cancel := detached(q.r.Context(), q.h.cfg.AppendTimeout)
	defer cancel()
	own := receipts.Answer{Body: q.response, Positions: q.position.String()}
	answer, err := q.flight.Settle(ctx, own)
	if err != nil {
		return q.logFault(err)
	}
	if string(answer.Body) != string(own.Body) || answer.Positions != own.Positions {
		q.refund()
		q.replay(answer)
	}
	return nil
}

// eventsTooLarge is for a batch that is no larger than its project may send, yet
// larger than the log takes.
func eventsTooLarge(err error) error {
	return httpapi.Errorf(httpapi.CodeEventsTooLarge,
		"the batch's events of one type are more than the log takes at once (with about 70 bytes more for each event): split the batch").Because(err)
}

// logFault turns what the log or the receipts report into an answer, and lets
// the breaker know.
func (q *request) logFault(err error) error {
	var busy *receipts.BusyError
	switch {
	case errors.As(err, &busy):
		return httpapi.Errorf(httpapi.CodeOverloaded, "a batch with this idempotency key is still under way: send it again later").
			After(min(busy.RetryAfter, retryKey))
	case errors.Is(err, receipts.ErrOtherBody):
		return httpapi.Errorf(httpapi.CodeIdempotencyInUse,
			"this idempotency key belongs to another batch, which was begun and not ended: repeat that one with it, and send this one with a key of its own")
	case errors.Is(err, receipts.ErrNotReady):
		return httpapi.Errorf(httpapi.CodeOverloaded, "this gateway is still reading what idempotency keys were answered: send the batch again").After(retrySoon).Because(err)
	case errors.Is(err, eventlog.ErrTooLarge):
		return eventsTooLarge(err)
	case errors.Is(err, eventlog.ErrOverloaded):
		return httpapi.Errorf(httpapi.CodeOverloaded, "too many batches wait for the log: send this one again later").After(retrySoon).Because(err)
	}
	if errors.Is(err, eventlog.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		q.h.breaker.failed()
	}
	return httpapi.Errorf(httpapi.CodeOverloaded, "the log did not take the batch in time: send it again").After(breakerFirst).Because(err)
}
