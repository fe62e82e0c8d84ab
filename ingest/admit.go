package ingest

import (
	"strings"
	"time"

	"weir/internal/httpapi"
)

// retrySoon is the Retry-After of a gateway that is full: what is in flight is
// mostly gone in a second.
const retrySoon = time.Second

// admit decides by the headers alone whether the body is read at all.
func (q *request) admit() error {
	if !isJSON(q.r.Header["Content-Type"]) {
		return httpapi.Errorf(httpapi.CodeInvalidContentType, "send Content-Type: application/json, once; it may have parameters")
	}
	if q.r.ContentLength > int64(q.maxBytes) {
		return q.tooLarge()
	}
	return q.makeRoom()
}

func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	kind, _, _ := strings.Cut(values[0], ";")
	return strings.EqualFold(strings.Trim(kind, " \t"), "application/json")
}

func (q *request) tooLarge() error {
	return httpapi.Errorf(httpapi.CodeBatchTooLarge,
		"a batch may have %d bytes, as sent and as unpacked: split it into smaller batches", q.maxBytes)
}

// makeRoom sheds the request when the gateway can't or need not take it now.
func (q *request) makeRoom() error {
	if q.h.draining.Load() {
		q.w.Header().Set("Connection", "close")
		return httpapi.Errorf(httpapi.CodeOverloaded, "this gateway is being stopped: send the batch again").After(retrySoon)
	}
	if wait := q.h.breaker.wait(); wait > 0 {
		return httpapi.Errorf(httpapi.CodeOverloaded, "the log does not answer at the moment: send the batch again later").After(wait)
	}
	if q.r.ContentLength < 0 {
		return nil // reserved as it comes
	}
	take := q.h.budget.take
	if q.r.ContentLength >= mostUnseen {
		take = q.h.budget.begin
	}
	return q.reserveBy(take, int64(roomFor(q.firstRoom())))
}

// mostUnseen is how much memory an announced body gets before any of it has come:
// more than most batches have, and little enough that clients which announce much
// and send slowly can't take the budget from others.
const mostUnseen = 512 << 10

// firstRoom is the room for a body of known length in the beginning.
func (q *request) firstRoom() int { return int(min(q.r.ContentLength+1, mostUnseen)) }

// reserve takes memory from the budget until the request ends.
func (q *request) reserve(n int64) error { return q.reserveBy(q.h.budget.take, n) }

func (q *request) reserveBy(take func(int64) bool, n int64) error {
	if !take(n) {
		return httpapi.Errorf(httpapi.CodeOverloaded, "too many batches are in flight: send this one again later").After(retrySoon)
	}
	q.reserved += n
	return nil
}

// unreserve gives memory back before the request ends.
func (q *request) unreserve(n int64) {
	q.h.budget.release(n)
	q.reserved -= n
}
