package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// HeaderRequestID carries the request's id in requests and responses.
const HeaderRequestID = "X-Request-Id"

// state is what one request's log line and metrics need to know; one
// goroutine, the request's, writes it.
type state struct {
	id        string
	principal Principal
	err       error
}

type stateKey struct{}

func stateFrom(ctx context.Context) *state {
	s, _ := ctx.Value(stateKey{}).(*state)
	return s
}

// RequestID returns the id Observe gave to the request, "" outside of one.
func RequestID(ctx context.Context) string {
	if s := stateFrom(ctx); s != nil {
		return s.id
	}
	return ""
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s := &state{id: requestID(r)}
		rec := &recorder{ResponseWriter: w}
		w.Header().Set(HeaderRequestID, s.id)
		r = r.WithContext(context.WithValue(r.Context(), stateKey{}, s))
		o.inFlight.Inc()
		defer func() {
			o.inFlight.Dec()
			abort := o.recovered(recover(), rec, r, s)
			o.finish(r, rec, s, time.Since(start))
			if abort {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// recovered answers a panic with 500. The panic's value and stack go to the log
// line, not to the client. True: the connection must be cut, because the
// response had begun or the handler asked for it.
func (o *Observer) recovered(v any, rec *recorder, r *http.Request, s *state) bool {
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

func (o *Observer) finish(r *http.Request, rec *recorder, s *state, took time.Duration) {
	route, method := route(r), methodLabel(r.Method)
	status := rec.code()
	o.requests.WithLabelValues(route, method, statusLabel(status)).Inc()
	o.seconds.WithLabelValues(route, method).Observe(took.Seconds())
	o.logLine(r, rec, s, route, took)
}

// logLine writes one line: faults of ours as warnings, the client's as
// information, all else only when debugging, for the ingest path would drown
// the log. Neither headers, nor query, nor path values, nor bodies are in it,
// so no secret can be.
func (o *Observer) logLine(r *http.Request, rec *recorder, s *state, route string, took time.Duration) {
	level := slog.LevelDebug
	switch status := rec.code(); {
	case status >= 500:
		level = slog.LevelWarn
	case status >= 400:
		level = slog.LevelInfo
	}
	if !o.logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", s.id), slog.String("method", methodLabel(r.Method)),
		slog.String("route", route), slog.Int("status", rec.code()),
		slog.Int64("bytes", rec.bytes), slog.Duration("took", took),
		slog.String("remote", r.RemoteAddr),
	}
	if s.principal.Admin {
		attrs = append(attrs, slog.Bool("admin", true))
	}
	if s.principal.ProjectID != "" {
		attrs = append(attrs, slog.String("project", s.principal.ProjectID), slog.String("key", s.principal.KeyID))
	}
	if s.err != nil {
		attrs = append(attrs, slog.String("error", s.err.Error()))
	}
	o.logger.LogAttrs(r.Context(), level, "request", attrs...)
}

func route(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		if p := c.RoutePattern(); p != "" && p != "/*" {
			return p
		}
	}
	return "unmatched"
}

// methodLabel keeps the number of label values bounded whatever clients send.
func methodLabel(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "OTHER"
}

func statusLabel(status int) string {
	if status == http.StatusOK {
		return "200"
	}
	return strconv.Itoa(status)
}

// requestID takes the caller's id when it is short and plain. No underscore:
// API keys and secrets have one, so they can't get into the log this way.
func requestID(r *http.Request) string {
	if id := r.Header.Get(HeaderRequestID); plainID(id) {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func plainID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}
