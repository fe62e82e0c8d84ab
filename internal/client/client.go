// Package client speaks Weir's HTTP API for the command line: plain JSON calls for the
// admin verbs, and signed, retried batches for `weir send`.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// maxAnswer bounds what is read of an answer: lists are paged, so a larger one is not ours.
const maxAnswer = 64 << 20

// Client calls one server with one bearer. It may be used from several goroutines.
type Client struct {
	base   string
	bearer string
	http   *http.Client
}

// New makes a client for the server at base ("http://127.0.0.1:8080"); bearer is an API key or the admin token.
func New(base, bearer string) *Client {
	return &Client{
		base:   strings.TrimRight(base, "/"),
		bearer: bearer,
		http:   &http.Client{Timeout: 2 * time.Minute},
	}
}

// Problem is an application/problem+json answer (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// Error says what the server answered.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("the server answered %d %s: %s", p.Status, p.Code, text)
}

// Call sends in (nil: no body) as JSON and decodes a 2xx answer into out (nil: dropped).
// Any other answer is a *Problem.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	resp, err := c.open(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return problemOf(resp.StatusCode, body)
	}
	if out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s%s answered something that is not Weir's JSON (%w): is --server right?", method, c.base, path, err)
	}
	return nil
}

// Stream opens a GET whose body the caller reads and closes (server-sent events). It has no time limit but ctx.
func (c *Client) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	endless := &Client{base: c.base, bearer: c.bearer, http: &http.Client{Transport: c.http.Transport}}
	resp, err := endless.open(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return nil, problemOf(resp.StatusCode, body)
	}
	return resp.Body, nil
}

func (c *Client) open(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("the server address %q cannot be used: %w", c.base, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return resp, nil
}

func (c *Client) unreachable(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at %s: start the server with `weir serve`, or name another with --server URL (%w)", c.base, err)
	}
	return fmt.Errorf("call %s: %w", c.base, err)
}

func problemOf(status int, body []byte) error {
	p := &Problem{}
	if json.Unmarshal(body, p) != nil || p.Code == "" {
		p = &Problem{Code: http.StatusText(status), Detail: strings.TrimSpace(string(body[:min(len(body), 200)]))}
	}
	p.Status = status
	return p
}
