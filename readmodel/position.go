package readmodel

import (
	"context"
	"errors"
	"net/http"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/schemas"
)

// HeaderLogPosition is the answer of an ingest request sent back on a read:
// the read then shows at least what that request appended.
const HeaderLogPosition = "X-Service-Log-Position"

// await returns when the projection has folded as far as the request's header
// asks. Positions of topics the projection does not fold are nothing to wait for.
func (rd *Reader) await(r *http.Request, projection string) error {
	values := r.Header.Values(HeaderLogPosition)
	if len(values) == 0 || rd.cfg.Waiter == nil {
		return nil
	}
	if len(values) > 1 {
		return badPosition("given twice")
	}
	all, err := eventlog.ParsePositions(values[0])
	if err != nil {
		return badPosition(err.Error())
	}
	return rd.awaitFolded(r.Context(), projection, all)
}

// awaitFolded waits for those of the positions that end up in the projection's tables.
func (rd *Reader) awaitFolded(request context.Context, projection string, all eventlog.Positions) error {
	if rd.cfg.Waiter == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(request, rd.cfg.MaxWait)
	defer cancel()
	for _, name := range together(projection) {
		positions := concerning(name, all)
		if len(positions) == 0 {
			continue
		}
		if err := rd.waited(ctx, request, rd.cfg.Waiter.Wait(ctx, name, positions)); err != nil {
			return err
		}
	}
	return nil
}

// together lists the projections whose tables are read along with one's.
func together(projection string) []string {
	if projection == ErrorGroups {
		return []string{ErrorGroups, Triage}
	}
	return []string{projection}
}

func (rd *Reader) waited(ctx, request context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case request.Err() != nil:
		return request.Err()
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return httpapi.Errorf(httpapi.CodeNotYetVisible,
			"the read model has not folded the log that far within %s; nothing is lost: retry", rd.cfg.MaxWait).
			After(retryAfter).Because(err)
	}
	return unavailable(err)
}

func badPosition(reason string) error {
	return httpapi.ParamErrors(httpapi.ParamProblem{Name: HeaderLogPosition, Reason: reason + "; send the header back as POST /api/ingest gave it"})
}

func concerning(projection string, all eventlog.Positions) eventlog.Positions {
	var some eventlog.Positions
	for _, p := range all {
		if folds(projection, p.Topic) {
			some = append(some, p)
		}
	}
	return some
}

// folds says whether records of the topic end up in the projection's tables.
func folds(projection, topic string) bool {
	switch projection {
	case History:
		for _, t := range schemas.Types() {
			if topic == eventlog.EventsTopic(t) {
				return true
			}
		}
		return false
	case ErrorGroups:
		return topic == eventlog.EventsTopic(schemas.Error)
	case Triage:
		return topic == eventlog.ControlTopic
	case Deliveries:
		return topic == eventlog.EventsTopic(schemas.Webhook)
	case Costs:
		return topic == eventlog.EventsTopic(schemas.Cost)
	case Performance:
		return topic == eventlog.EventsTopic(schemas.Performance)
	}
	return false
}
