package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// state is what one request's log line and metrics need to know; one
// goroutine, the request's, writes it. It is the request's context, too, and
// holds its recorder, so that it is one allocation.
type state struct {
	context.Context
	recorder  recorder
	id        string
	principal Principal
	err       error
}

// Value is the state itself for stateKey.
func (s *state) Value(key any) any {
	if key == (stateKey{}) {
		return s
	}
	return s.Context.Value(key)
}

type stateKey struct{}

func stateFrom(ctx context.Context) *state {
	s, _ := ctx.Value(stateKey{}).(*state)
	return s
}

// Observer is the outermost middleware: request id, recovery from panics, one
// log line and the metrics of each request.
type Observer struct {
	logger   *slog.Logger
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	panics   prometheus.Counter
}

// NewObserver registers the request metrics on reg (nil: on none) and logs to
// logger (nil: to nothing).
func NewObserver(logger *slog.Logger, reg prometheus.Registerer) *Observer {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	o := &Observer{
		logger: logger,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_http_requests_total", Help: "HTTP requests answered, by route, method and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weir_http_request_seconds", Help: "Time to answer an HTTP request, by route and method.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_http_requests_in_flight", Help: "HTTP requests begun and not yet answered.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_http_panics_total", Help: "Panics in HTTP handlers, each answered 500.",
		}),
	}
	if reg != nil {
		reg.MustRegister(o.requests, o.seconds, o.inFlight, o.panics)
	}
	return o
}

// Middleware wraps next. Use it once, outside of everything else, on the chi
// router whose routes name the metrics.
func (o *Observer) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.serve(w, r, next, routeOf, o.count) })
}

// Only wraps the one handler of a route, which then needs no router: a busy
// route's requests are spared the way through it.
func (o *Observer) Only(method, route string, next http.Handler) http.Handler {
	answered, seconds := o.requests.WithLabelValues(route, method, statusLabel(http.StatusOK)), o.seconds.WithLabelValues(route, method)
	count := func(route, method string, status int, took time.Duration) {
		if status != http.StatusOK {
			o.count(route, method, status, took)
			return
		}
		answered.Inc()
		seconds.Observe(took.Seconds())
	}
	name := func(*http.Request) string { return route }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.serve(w, r, next, name, count) })
}

func (o *Observer) serve(w http.ResponseWriter, r *http.Request, next http.Handler,
	route func(*http.Request) string, count func(route, method string, status int, took time.Duration)) {
	start := time.Now()
	s := &state{Context: r.Context(), id: requestID(r)}
	rec := &s.recorder
	rec.ResponseWriter = w
	w.Header()[HeaderRequestID] = []string{s.id}
	r = r.WithContext(s)
	o.inFlight.Inc()
	defer func() {
		o.inFlight.Dec()
		abort := o.recovered(recover(), rec, r, s, route)
		took := time.Since(start)
		count(route(r), methodLabel(r.Method), rec.code(), took)
		o.logLine(r, rec, s, route, took)
		if abort {
			panic(http.ErrAbortHandler)
		}
	}()
	next.ServeHTTP(rec, r)
}

// recovered answers a panic with 500. The panic's value and stack go to the log
// line, not to the client. True: the connection must be cut, because the
// response had begun or the handler asked for it.
func (o *Observer) recovered(v any, rec *recorder, r *http.Request, s *state, route func(*http.Request) string) bool {
	if v == nil {
		return false
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	o.panics.Inc()
	s.err = fmt.Errorf("panic in handler: %T", v)
	o.logger.LogAttrs(r.Context(), slog.LevelError, "panic in HTTP handler",
		slog.String("request_id", s.id), slog.String("route", route(r)),
		slog.String("panic", panicText(v)), slog.String("stack", string(debug.Stack())))
	if rec.status != 0 {
		return true
	}
	WriteProblem(rec, Problem{Code: CodeInternal, Detail: "the request id finds this in the log"})
	return false
}

// panicText says what went wrong without printing arbitrary values, which might hold a secret.
func panicText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	}
	return fmt.Sprintf("%T", v)
}

func (o *Observer) count(route, method string, status int, took time.Duration) {
	o.requests.WithLabelValues(route, method, statusLabel(status)).Inc()
	o.seconds.WithLabelValues(route, method).Observe(took.Seconds())
}
