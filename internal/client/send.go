package client

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Backoff between tries of one batch: exponential with full jitter, and never less than the server's Retry-After.
const (
	firstWait = 200 * time.Millisecond
	maxWait   = 30 * time.Second
)

// Rejection is one event that the server did not take.
type Rejection struct {
	Index  int    `json:"index"`
	Reason string `json:"reason"`
}

// Receipt is the server's answer to a batch.
type Receipt struct {
	Accepted int         `json:"accepted"`
	Rejected []Rejection `json:"rejected"`
	// Position names how far the log must be folded for the batch to be visible (X-Service-Log-Position).
	Position string `json:"-"`
	// Tries counts the requests it took, 1 when the first one was answered.
	Tries int `json:"-"`
}

// Sender posts signed batches to /api/ingest. It may be used from several goroutines.
type Sender struct {
	client *Client
	secret []byte
	// Patience bounds the time spent on one batch, all tries together. Zero: until the context ends.
	Patience time.Duration
	// OnRetry, when set, is told why a batch is sent again and after which wait.
	OnRetry func(cause error, wait time.Duration)
}

// NewSender makes a sender; the webhook secret's whole text is the HMAC key.
func NewSender(c *Client, webhookSecret string) *Sender {
	return &Sender{client: c, secret: []byte(webhookSecret)}
}

// Sign gives the X-Service-Signature of a body: bare lowercase hex of HMAC-SHA256.
func Sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Send posts one batch until it is answered 200 or refused for good. 429, 503, other 5xx and lost
// connections are tried again with the same idempotency key, so that a batch whose answer was lost
// is not stored twice.
func (s *Sender) Send(ctx context.Context, body []byte) (Receipt, error) {
	if s.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Patience)
		defer cancel()
	}
	key := uuid.NewString()
	signature := Sign(s.secret, body)
	for try := 1; ; try++ {
		receipt, after, err := s.post(ctx, body, signature, key)
		if err == nil {
			receipt.Tries = try
			return receipt, nil
		}
		var problem *Problem
		if errors.As(err, &problem) && !retryable(problem.Status) {
			return Receipt{}, err
		}
		wait := max(after, backoff(try))
		if s.OnRetry != nil {
			s.OnRetry(err, wait)
		}
		select {
		case <-ctx.Done():
			return Receipt{}, fmt.Errorf("gave up after %d tries: %w", try, err)
		case <-time.After(wait):
		}
	}
}

func (s *Sender) post(ctx context.Context, body []byte, signature, key string) (Receipt, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.client.base+"/api/ingest", bytes.NewReader(body))
	if err != nil {
		return Receipt{}, 0, &Problem{Code: "usage", Detail: err.Error()}
	}
	req.Header.Set("Authorization", "Bearer "+s.client.bearer)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Service-Signature", signature)
	req.Header.Set("X-Service-Idempotency-Key", key)
	resp, err := s.client.http.Do(req)
	if err != nil {
		return Receipt{}, 0, s.client.unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Receipt{}, 0, fmt.Errorf("the answer broke off: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return Receipt{}, retryAfter(resp.Header), problemOf(resp.StatusCode, answer)
	}
	receipt := Receipt{Position: resp.Header.Get("X-Service-Log-Position")}
	if err := json.Unmarshal(answer, &receipt); err != nil {
		return Receipt{}, 0, &Problem{Status: 200, Code: "not_weir", Detail: "the answer is not Weir's JSON: is --server right?"}
	}
	return receipt, 0, nil
}

func retryable(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// backoff spreads clients that were refused together: full jitter over a doubling window.
func backoff(try int) time.Duration {
	window := min(firstWait<<min(try-1, 10), maxWait)
	return window/2 + rand.N(window/2+1)
}
