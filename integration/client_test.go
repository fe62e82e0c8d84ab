package integration

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// This client is written from the specification, not from the server: it knows the names of
// headers, how a body is signed and how pages follow each other, and nothing more.

// credentials are what `weir project create NAME --json` prints.
type credentials struct {
	ProjectID     string `json:"project_id"`
	APIKey        string `json:"api_key"`
	WebhookSecret string `json:"webhook_secret"`
}

// answer is one HTTP answer, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s", a.status, a.body[:min(len(a.body), 300)])
}

// problem is the body of every answer that is not a success.
type problem struct {
	Type, Title, Detail, Code string
	Status                    int
}

// problem reads the problem document, and says what is wrong with the answer as one.
func (a answer) problem() (p problem, err error) {
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		return p, fmt.Errorf("content type %q of %s, expected application/problem+json", got, a)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		return p, fmt.Errorf("%w in %s", err, a)
	}
	if p.Status != a.status || p.Code == "" || p.Title == "" || p.Type == "" || p.Detail == "" {
		return p, fmt.Errorf("incomplete problem: %s", a)
	}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		if a.header.Get("Retry-After") == "" {
			return p, fmt.Errorf("no Retry-After with %s", a)
		}
	}
	return p, nil
}

var httpClient = &http.Client{
	Timeout:   40 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 5 * time.Second},
}

// sign is the specification's rule: hex of HMAC-SHA256 over the body as sent, keyed with the
// whole text of the webhook secret.
func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// post sends one batch, once. key is the idempotency key, "" for none.
func post(base string, who credentials, body []byte, key string) (answer, error) {
	req, err := http.NewRequest(http.MethodPost, base+"/api/ingest", strings.NewReader(string(body)))
	if err != nil {
		return answer{}, err
	}
	req.GetBody = nil // net/http must not send it a second time behind our back
	req.Header.Set("Authorization", "Bearer "+who.APIKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Service-Signature", sign(who.WebhookSecret, body))
	if key != "" {
		req.Header.Set("X-Service-Idempotency-Key", key)
	}
	return do(req)
}

// get reads one resource; bearer "" sends none, position "" waits for nothing.
func get(base, bearer, path string, query url.Values) (answer, error) {
	return getAt(base, bearer, path, query, "")
}

func getAt(base, bearer, path string, query url.Values, position string) (answer, error) {
	req, err := http.NewRequest(http.MethodGet, base+path+"?"+query.Encode(), nil)
	if err != nil {
		return answer{}, err
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	if position != "" {
		req.Header.Set("X-Service-Log-Position", position)
	}
	return do(req)
}

func do(req *http.Request) (answer, error) {
	resp, err := httpClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body}, err
}

// pages reads a whole list, 200 items at a time.
func pages[T any](base, bearer, path string, query url.Values) ([]T, error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", "200")
	var all []T
	for {
		a, err := get(base, bearer, path, query)
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			return nil, fmt.Errorf("GET %s?%s: %s", path, query.Encode(), a)
		}
		var page struct {
			Data []T     `json:"data"`
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal(a.body, &page); err != nil {
			return nil, fmt.Errorf("GET %s: %w in %s", path, err, a)
		}
		all = append(all, page.Data...)
		if page.Next == nil {
			return all, nil
		}
		query.Set("cursor", *page.Next)
	}
}

// receipt is the specification's answer to a batch.
type receipt struct {
	Accepted int `json:"accepted"`
	Rejected []struct {
		Index  int    `json:"index"`
		Reason string `json:"reason"`
	} `json:"rejected"`
}
