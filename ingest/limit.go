package ingest

import "weir/internal/httpapi"

// admitRate refuses a batch while its project is in debt, before it costs the
// work of scanning it.
func (q *request) admitRate() error {
	q.standing = q.h.cfg.Limiter.Admit(q.caller.ProjectID, q.rates, q.h.cfg.Now())
	return q.limited()
}

// chargeRate counts the events that the scan found, rejected ones too.
func (q *request) chargeRate() error {
	q.standing = q.h.cfg.Limiter.Charge(q.caller.ProjectID, q.rates, q.batch.Count, q.h.cfg.Now())
	return q.limited()
}

// refund takes the charge back from a batch that had no effect.
func (q *request) refund() {
	q.standing = q.h.cfg.Limiter.Refund(q.caller.ProjectID, q.rates, q.batch.Count, q.h.cfg.Now())
}

func (q *request) limited() error {
	if q.standing.Passes() {
		return nil
	}
	q.standing.WriteHeaders(q.w.Header())
	return httpapi.Errorf(httpapi.CodeRateLimited, "the project may send %s: send this batch again later, with growing pauses", q.standing.Reason()).
		After(q.standing.RetryAfter)
}
