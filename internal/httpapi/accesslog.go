package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
)

// logLine writes one line: faults of ours as warnings, the client's as
// information, all else only when debugging, for the ingest path would drown
// the log. Neither headers, nor query, nor path values, nor anything of bodies
// is in it, so no secret can be.
func (o *Observer) logLine(r *http.Request, rec *recorder, s *state, route func(*http.Request) string, took time.Duration) {
	level := slog.LevelDebug
	switch status := rec.code(); {
	case shed(s.err):
		// Refused early because there is too much: a line for each would add to that. Metrics count them.
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
		slog.String("route", route(r)), slog.Int("status", rec.code()),
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
		attrs = append(attrs, slog.String("error", loggable(s.err)))
	}
	o.logger.LogAttrs(r.Context(), level, "request", attrs...)
}

// shed says that a request was turned away for what others do, not for a fault.
func shed(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.cause == nil && (e.Code == CodeOverloaded || e.Code == CodeRateLimited)
}

// loggable leaves out the detail of a client's fault: it may repeat what the
// client sent, a key in the wrong place for one. The client was told.
func loggable(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Code.Status() >= 500 {
		return err.Error()
	}
	if e.cause != nil {
		return fmt.Sprintf("%s: %v", e.Code, e.cause)
	}
	return string(e.Code)
}

func routeOf(r *http.Request) string {
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
