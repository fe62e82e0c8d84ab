package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"weir/webhooks/guard"
)

// Bounds of an attempt.
const (
	attemptTime    = 15 * time.Second
	keptBody       = 16 << 10 // of the answer; no more is read
	maxAnswerHead  = 64 << 10
	idleConns      = 2048
	idleConnsEach  = 128
	idleConnTime   = 30 * time.Second
	handshakeTime  = 10 * time.Second
	userAgent      = "Weir-Webhooks/1"
	jsonMediaType  = "application/json"
	statusOK, gone = 200, 410
)

// Failure codes of attempts.
const (
	FailureTimeout = "timeout"         // no whole answer in 15 s
	FailureDNS     = "dns"             // the name has no address
	FailureConnect = "connect"         // no connection
	FailureTLS     = "tls"             // no trusted TLS connection
	FailureBlocked = "blocked_address" // the guard refused the target
	FailureReset   = "reset"           // the connection broke off
	FailureAnswer  = "response"        // the answer is no HTTP
	FailureStatus  = "status"          // an answer other than 2xx; redirects too
	FailureSecrets = "secrets"         // the endpoint's secrets cannot be opened here
)

// newClient makes the one client of the lane: it dials through the guard only,
// follows no redirect, uses no proxy and keeps no cookies.
func newClient(g *guard.Guard, roots *x509.CertPool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            g.Dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout:    handshakeTime,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // a small answer must not unpack into a large one
			MaxIdleConns:           idleConns,
			MaxIdleConnsPerHost:    idleConnsEach,
			IdleConnTimeout:        idleConnTime,
			MaxResponseHeaderBytes: maxAnswerHead,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is what came of one HTTP try.
type answer struct {
	status  int // 0: none came
	failure string
	header  http.Header
	body    []byte
	aborted bool // the lane stopped; nothing is known
}

// post sends one request and reads at most keptBody of the answer, all within limit.
func post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte, limit time.Duration) answer {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return answer{failure: FailureBlocked}
	}
	req.Header = header
	req.GetBody = nil // never sent twice by the transport
	res, err := client.Do(req)
	if err != nil {
		return answer{failure: failureOf(err), aborted: ctx.Err() != nil}
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(io.LimitReader(res.Body, keptBody))
	switch {
	case err != nil:
		a.failure, a.aborted = failureOf(err), ctx.Err() != nil
	case a.status < statusOK || a.status > 299:
		a.failure = FailureStatus
	}
	if err == nil && len(a.body) == keptBody {
		return a // the rest is not read: the connection is closed instead
	}
	return a
}

// failureOf sorts an error. Its text is not kept: it holds the URL.
func failureOf(err error) string {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.Is(err, guard.ErrBlocked), errors.Is(err, guard.ErrPort), errors.Is(err, guard.ErrURL):
		return FailureBlocked
	case errors.As(err, &dns):
		return FailureDNS
	case errors.Is(err, context.DeadlineExceeded):
		return FailureTimeout
	case errors.As(err, &verify), errors.As(err, &record), errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch):
		return FailureTLS
	case errors.As(err, &op) && op.Op == "dial":
		return FailureConnect
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return FailureTLS
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return FailureReset
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return FailureTimeout
	}
	return FailureAnswer
}
