package ingest

import (
	"net/http"
	"time"

	"weir/eventlog"
	"weir/ingest/limits"
	"weir/ingest/receipts"
	"weir/schemas"
)

// request is one request on its way through the stages, with all the memory it
// needs; pooled, so that a request allocates next to nothing. One goroutine
// works on it at a time, except in append.
type request struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	start time.Time

	// received is when the whole body was there. It is the time of the records:
	// at most the waits of this package pass between it and their append, which
	// the search of a take-over relies on.
	received time.Time

	caller   Caller
	rates    limits.Rates
	maxBytes int // of the body
	standing limits.Standing

	sent     []byte  // the body as sent, once all of it was read
	body     []byte  // the body unpacked; the same slice when it was not packed
	sentRoom *buffer // holds sent
	bodyRoom *buffer // holds body when it was packed
	bodyRead bool    // the whole body was read
	broken   bool    // nothing more of the body can come
	reserved int64   // bytes of the budget

	signer signer
	pace   pace

	flight *receipts.Flight // nil without an idempotency key
	claim  receipts.Claim
	digest [16]byte // of body, with a key

	batch    schemas.Batch
	sets     [typeCount]typeSet
	types    []schemas.Type // that the batch has accepted events of
	position eventlog.Positions
	response []byte
	grouping Grouping // of captures
	answered bool
	status   int
}

// typeCount is the number of event types.
var _ = [1]struct{}{}[typeCount-13]

const typeCount = int(schemas.Webhook) + 1

// typeSet is what one request appends of one type.
type typeSet struct {
	values  [][]byte
	indexes []int
	at      eventlog.Position
	err     error
}

func (q *request) begin(h *Handler, w http.ResponseWriter, r *http.Request) {
	q.h, q.w, q.r, q.start = h, w, r, h.cfg.Now()
	h.metrics.started()
}

// What a pooled request may keep. Most batches are far smaller than the limit,
// and memory that only the largest need must not pile up in the pool.
const (
	keepEvents   = 2 << 10
	keepResponse = 64 << 10
)

// recycle empties the request for the next one and frees its bodies. False: it
// has grown too large to be kept.
func (q *request) recycle() bool {
	q.sentRoom.free()
	q.bodyRoom.free()
	if cap(q.batch.Events) > keepEvents || cap(q.batch.Rejected) > keepEvents || cap(q.response) > keepResponse {
		return false
	}
	for _, t := range q.types {
		s := &q.sets[t]
		clear(s.values)
		*s = typeSet{values: s.values[:0], indexes: s.indexes[:0]}
	}
	*q = request{
		signer: q.signer, batch: q.batch, sets: q.sets, types: q.types[:0], position: q.position[:0], response: q.response[:0],
	}
	return true
}
