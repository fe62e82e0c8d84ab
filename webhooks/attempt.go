package webhooks

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"weir/webhooks/signing"
)

// outcome is what one attempt came to, as it goes into the history.
type outcome struct {
	answer
	started  time.Time
	duration time.Duration
	endpoint *Endpoint
	keyID    string
	sent     http.Header
	sentBody []byte // what the internal feed shows
}

func (o outcome) succeeded() bool { return o.failure == "" }

// try makes one attempt at a delivery.
func (l *Lane) try(ctx context.Context, rec *record, o owed, ep *Endpoint) outcome {
	out := outcome{started: l.cfg.Now(), endpoint: ep}
	if ep.Kind == KindInternal {
		out.status, out.sentBody = 0, rec.body()
		return out
	}
	body := format(ep.Kind, rec)
	out.sent, out.keyID = l.sign(o.Delivery, out.started, body, ep)
	full := out.sent.Clone()
	for name, value := range ep.Headers {
		full.Set(name, value())
		out.sent.Set(name, redacted)
	}
	began := time.Now()
	out.answer = post(ctx, l.client, ep.Address(), full, body, l.cfg.AttemptTime)
	out.duration = time.Since(began)
	return out
}

// sign makes the headers of an attempt: signed with every key that is valid now.
func (l *Lane) sign(id string, at time.Time, body []byte, ep *Endpoint) (http.Header, string) {
	var keys []signing.Key
	for _, k := range ep.Keys {
		if k.Until.IsZero() || k.Until.After(at) {
			keys = append(keys, k.Key)
		}
	}
	h := http.Header{}
	h.Set("Content-Type", jsonMediaType)
	h.Set("User-Agent", userAgent)
	h.Set(signing.HeaderID, id)
	h.Set(signing.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(signing.HeaderSignature, signing.Sign(id, at, body, keys...))
	if len(ep.Keys) == 0 {
		return h, ""
	}
	return h, ep.Keys[0].ID
}

// attemptEvent is a webhook event of the lane. Its names are read by the fold of
// deliveries; round, first and nextAttemptAt are for the lane itself, which reads
// its own attempts back after a crash.
type attemptEvent struct {
	Type string      `json:"type"`
	TS   time.Time   `json:"ts"`
	Data attemptData `json:"data"`
}

type attemptData struct {
	Destination     string            `json:"destination"`
	URL             string            `json:"url"`
	StatusCode      int               `json:"statusCode,omitempty"`
	Attempt         int               `json:"attempt"`
	DeliveryID      string            `json:"deliveryId"`
	DeliveryStatus  string            `json:"deliveryStatus"`
	Status          string            `json:"status,omitempty"`
	Failure         string            `json:"failure,omitempty"`
	StartedAt       string            `json:"startedAt,omitempty"`
	DurationMS      float64           `json:"durationMs,omitempty"`
	EndpointID      string            `json:"endpointId"`
	EndpointVersion int               `json:"endpointVersion,omitempty"`
	KeyID           string            `json:"keyId,omitempty"`
	EventType       string            `json:"eventType"`
	EventIDs        []string          `json:"eventIds,omitempty"`
	RequestHeaders  map[string]string `json:"requestHeaders,omitempty"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitempty"`
	ResponseBody    string            `json:"responseBody,omitempty"`
	Round           string            `json:"round,omitempty"`
	NextAttemptAt   int64             `json:"nextAttemptAt,omitempty"` // Unix milliseconds
	Payload         json.RawMessage   `json:"payload,omitempty"`       // of internal endpoints: the feed shows it
}

// Statuses, as the fold of deliveries names them.
const (
	statusPending   = "pending"
	statusSucceeded = "succeeded"
	statusRetrying  = "retrying"
	statusExhausted = "exhausted"
	statusCanceled  = "canceled"
	statusFailed    = "failed"
)

func destinationOf(ep *Endpoint) string {
	if ep.Kind == KindHTTP {
		return ep.Shown
	}
	return ep.Kind
}

// event is the event of an attempt; next is when the next one is due, zero when
// there is none.
func (out outcome) event(rec *record, o owed, status string, next time.Time) []byte {
	ep := out.endpoint
	d := attemptData{
		Destination: destinationOf(ep), URL: ep.Shown, StatusCode: out.status, Attempt: o.Number,
		DeliveryID: o.Delivery, DeliveryStatus: status, Status: statusSucceeded, Failure: out.failure,
		StartedAt: out.started.UTC().Format(time.RFC3339Nano), DurationMS: float64(out.duration.Microseconds()) / 1000,
		EndpointID: o.Endpoint, EndpointVersion: ep.Version, KeyID: out.keyID, EventType: rec.Type, EventIDs: rec.EventIDs,
		Round: o.Round, Payload: out.sentBody,
	}
	if !out.succeeded() {
		d.Status = statusFailed
	}
	if !next.IsZero() {
		d.NextAttemptAt = next.UnixMilli()
	}
	secrets := secretsOf(ep)
	d.RequestHeaders = shownHeaders(out.sent, nil)
	d.ResponseHeaders = shownHeaders(out.header, secrets)
	d.ResponseBody = hide(string(out.body), secrets)
	return encodeEvent(out.started.Add(out.duration), d)
}

// stateEvent is the event of a delivery's state without an attempt. number is that
// of its last attempt, 0 when it had none.
func stateEvent(at time.Time, rec *record, o owed, ep *Endpoint, number int, status string) []byte {
	d := attemptData{Attempt: number, DeliveryID: o.Delivery, DeliveryStatus: status, EndpointID: o.Endpoint,
		EventType: rec.Type, EventIDs: rec.EventIDs, Round: o.Round, Destination: o.Endpoint}
	if ep != nil {
		d.Destination, d.URL, d.EndpointVersion = destinationOf(ep), ep.Shown, ep.Version
	}
	return encodeEvent(at, d)
}

func encodeEvent(at time.Time, d attemptData) []byte {
	b, err := json.Marshal(attemptEvent{Type: "webhook", TS: at.UTC(), Data: d})
	if err != nil { // strings, numbers and checked JSON: nothing can fail
		panic(err)
	}
	return b
}
