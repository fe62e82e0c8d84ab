package ingest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/ingest/receipts"
	"weir/internal/httpapi"
)

// Handler serves POST /api/ingest. It may serve any number of requests at once.
type Handler struct {
	cfg     Config
	book    *receipts.Book
	budget  budget
	breaker breaker
	metrics *metrics
	pool    sync.Pool // of *request
	waits   waits
	lanes   [16]byte // random, so that gateways don't all use one partition at a time

	draining atomic.Bool
}

// New makes the gateway. Serve requests while Run runs; Ready says from when on.
func New(cfg Config) (*Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	book, err := receipts.New(receipts.Config{
		Log: cfg.Log, Gateway: cfg.Gateway, Lease: cfg.ClaimLease, Wait: cfg.AppendTimeout,
		Now: cfg.Now, Logger: cfg.Logger, Registerer: cfg.Registerer,
	})
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, book: book, lanes: newBatchID(time.Time{})}
	h.budget.limit, h.budget.outside = cfg.BytesInFlight, cfg.Outside
	h.breaker.now = cfg.Now
	h.metrics = newMetrics(cfg.Registerer, &h.budget)
	h.pool.New = func() any { return new(request) }
	return h, nil
}

// Run tails the receipts until ctx ends. An error means that idempotency keys
// can't be served any more: Ready fails from then on, and the process should be
// restarted.
func (h *Handler) Run(ctx context.Context) error { return h.book.Run(ctx) }

// Ready is nil when the gateway should get requests, else says why not. The
// readiness endpoint asks it. A log that does not answer is not a reason: no
// other gateway could do better, and shedding here tells clients when to retry.
func (h *Handler) Ready() error {
	switch {
	case h.draining.Load():
		return errors.New("ingest: draining")
	case !h.book.Ready():
		return receipts.ErrNotReady
	}
	return nil
}

// Drain stops taking requests: Ready fails, and what still comes is answered
// 503 and its connection closed. What was begun goes on to its answer;
// http.Server.Shutdown waits for it.
func (h *Handler) Drain() { h.draining.Store(true) }

// ServeHTTP answers one batch.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.serve(w, r, stages, nil) }

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, stages []func(*request) error, g Grouping) {
	req := h.pool.Get().(*request)
	req.begin(h, w, r)
	req.grouping = g
	defer h.end(req)
	if err := req.run(stages); err != nil {
		req.refuse(err)
	}
}

// end gives everything back that the request holds, also when a stage panicked.
func (h *Handler) end(req *request) {
	if req.flight != nil {
		req.flight.End()
	}
	h.metrics.finished(req)
	h.budget.release(req.reserved)
	if req.recycle() {
		h.pool.Put(req)
	}
}

// stages in their order, which decisions.md gives. Those before the body are
// refused without reading it.
var stages = []func(*request) error{
	(*request).authenticate,
	(*request).admit,
	(*request).readBody,
	(*request).checkSignature,
	(*request).lookUpKey,
	(*request).admitRate,
	(*request).unpack,
	(*request).decode,
	(*request).chargeRate,
	(*request).claimKey,
	(*request).append,
	(*request).settleKey,
}

func (q *request) run(stages []func(*request) error) error {
	if q.r.Method != http.MethodPost {
		q.w.Header().Set("Allow", http.MethodPost)
		return httpapi.Errorf(httpapi.CodeMethodNotAllowed, "send batches with POST")
	}
	for _, stage := range stages {
		if err := stage(q); err != nil {
			return err
		}
		if q.answered {
			return nil
		}
	}
	q.answer()
	return nil
}
