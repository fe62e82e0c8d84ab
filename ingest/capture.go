package ingest

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/schemas"
)

// CapturedGroup is the error group that an exception belongs to.
type CapturedGroup struct {
	Fingerprint string `json:"fingerprint"` // 32 hex digits
	Name        string `json:"name"`
	Message     string `json:"message"`
	Culprit     string `json:"culprit"`
}

// Grouping tells the group of an exception: data is what the error event's data
// will be. It is a pure function, called by many goroutines, and must take
// anything that is a JSON object. cmd/weir joins it with the algorithm that the
// read model folds by.
type Grouping func(project string, data []byte) CapturedGroup

// captureStages are those of a batch, without the signature and with a single
// exception for a body. docs/adr/0025 says why that is safe.
var captureStages = []func(*request) error{
	(*request).authenticate,
	(*request).admit,
	(*request).readBody,
	(*request).lookUpKey,
	(*request).admitRate,
	(*request).unpack,
	(*request).wrapCapture,
	(*request).chargeRate,
	(*request).claimKey,
	(*request).answerCapture,
	(*request).append,
	(*request).settleKey,
}

// Capture serves POST /api/errors/capture: one exception, appended as the very
// error event that a batch would have carried, with the same limits and the
// same meaning of an idempotency key. The handler shares everything with h.
func (h *Handler) Capture(g Grouping) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r, captureStages, g)
	})
}

// wrapCapture makes a batch of one error event out of the body and has it
// checked like any other. The body was verified to be one object before, or a
// crafted one could end the event and begin another.
func (q *request) wrapCapture() error {
	c := capture{own: q.caller.ProjectID}
	if err := c.read(q.body); err != nil {
		return q.captureFault(err)
	}
	if err := q.reserve(int64(roomFor(len(q.body) + captureFrame))); err != nil {
		return err
	}
	q.body = c.event(make([]byte, 0, len(q.body)+captureFrame), q.body, q.received)
	if err := q.batch.Parse(q.body); err != nil {
		return captureFaultOf(err)
	}
	if len(q.batch.Rejected) > 0 {
		_ = q.chargeRate() // a malformed event counts, as in a batch
		return httpapi.Errorf(httpapi.CodeInvalidRequest, "%s", strings.TrimPrefix(q.batch.Rejected[0].Reason, "data."))
	}
	e := &q.batch.Events[0]
	s := &q.sets[e.Type]
	q.types = append(q.types, e.Type)
	s.values, s.indexes = append(s.values, e.Raw), append(s.indexes, e.Index)
	return nil
}

// captureFrame is more than what is put around an exception.
const captureFrame = 256

// capture is what is read of a body before it becomes an event's data.
type capture struct {
	own     string // the key's project
	ts      []byte // as sent; nil when absent
	members []byte // the others, rewritten, when some are left out of data
	left    bool   // ts or project_id is there
}

var (
	errForeignProject = errors.New("project_id names another project")
	errTwice          = errors.New("ts or project_id is given twice")
)

// read looks for the members that are not data: ts, which is the event's, and
// project_id, which can only repeat what the key says.
func (c *capture) read(body []byte) error {
	var fault error
	seen := [2]bool{}
	err := schemas.Members(body, func(name, value []byte) bool {
		var which int
		switch string(name) {
		case "ts":
			which = 0
			if !schemas.IsNull(value) {
				c.ts = value
			}
		case "project_id":
			which = 1
			if id, ok := schemas.StringBytes(value); !schemas.IsNull(value) && (!ok || string(id) != c.own) {
				fault = errForeignProject
			}
		default:
			return true
		}
		if seen[which] {
			fault = errTwice
		}
		seen[which], c.left = true, true
		return true
	})
	if err == nil && fault == nil && c.left {
		c.members = without(body)
	}
	return errors.Join(err, fault)
}

// without is the object without the members that are not data. Values stay byte for byte.
func without(body []byte) []byte {
	out := append(make([]byte, 0, len(body)+2), '{')
	_ = schemas.Members(body, func(name, value []byte) bool { // verified before
		if string(name) == "ts" || string(name) == "project_id" {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendString(out, string(name))
		out = append(append(out, ':'), value...)
		return true
	})
	return append(out, '}')
}

// event appends a batch of one.
func (c *capture) event(dst, body []byte, received time.Time) []byte {
	dst = append(dst, `{"events":[{"type":"error","ts":`...)
	if c.ts != nil {
		dst = append(dst, c.ts...)
	} else {
		dst = received.UTC().AppendFormat(dst, `"2006-01-02T15:04:05.999999999Z"`)
	}
	dst = append(dst, `,"data":`...)
	if c.left {
		dst = append(dst, c.members...)
	} else {
		dst = append(dst, body...)
	}
	return append(dst, `}]}`...)
}

// captureFault says what is wrong with a body that is not one JSON object.
func (q *request) captureFault(err error) error {
	switch {
	case errors.Is(err, errForeignProject):
		return httpapi.NotFound("project")
	case errors.Is(err, errTwice):
		return httpapi.Errorf(httpapi.CodeInvalidRequest, "ts and project_id must not be given twice")
	}
	// As a batch the body is no better, and the scanner says where it breaks.
	var fault *schemas.BatchError
	if errors.As(q.batch.Parse(q.body), &fault) && fault.Code != schemas.CodeEventsMissing {
		return batchFault(fault)
	}
	return httpapi.Errorf(httpapi.CodeInvalidJSON, "the body must be one JSON object")
}

// captureFaultOf is a fault inside the event: invalid UTF-8, or nested too deeply.
func captureFaultOf(err error) error {
	var fault *schemas.BatchError
	if errors.As(err, &fault) {
		return httpapi.Errorf(httpapi.CodeInvalidJSON, "%s", fault.Detail)
	}
	return err
}

// answerCapture writes the response, once the batch id is known: the event's id
// follows from it, also when an earlier try's is taken over.
func (q *request) answerCapture() error {
	record := eventlog.Record{Batch: q.claim.Batch, Index: q.batch.Events[0].Index}
	id := record.EventID()
	e, err := schemas.Open(q.batch.Events[0].Raw)
	if err != nil {
		return err // it was checked just now
	}
	group := q.grouping(q.caller.ProjectID, e.Data)
	body, err := json.Marshal(struct {
		EventID     string        `json:"event_id"`
		Fingerprint string        `json:"fingerprint"`
		Group       CapturedGroup `json:"group"`
	}{hex.EncodeToString(id[:]), group.Fingerprint, group})
	if err != nil {
		return err // strings always encode
	}
	q.response = append(append(q.response[:0], body...), '\n')
	return nil
}
