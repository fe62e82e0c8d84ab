package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/webhooks/signing"
)

// History reads what became of deliveries from the read model.
type History interface {
	// Delivery returns one delivery; project "" is any.
	Delivery(ctx context.Context, project, id string) (Past, bool, error)

	// Failed returns the deliveries to an endpoint that were made since a time and
	// ended without success, oldest first, at most limit, and how many there are.
	Failed(ctx context.Context, project, endpoint string, since time.Time, limit int) ([]Past, int, error)

	// Attempt returns one attempt of a delivery; project "" is any.
	Attempt(ctx context.Context, project, id string, number int) (PastAttempt, bool, error)
}

// PastAttempt is what an attempt was signed with, as the history shows it.
type PastAttempt struct {
	EndpointID, KeyID string
	Headers           map[string]string // of the request
}

// APIConfig is what an API needs.
type APIConfig struct {
	Log      Log
	Decider  *Decider
	Auth     httpapi.Authenticator
	Projects func(id string) bool
	History  History

	// Key finds a signing key of an endpoint by its id, ended ones too.
	Key func(endpoint, keyID string) (signing.Key, bool, error)

	// Repeats knows the idempotency keys of deliver; nil: there are none.
	Repeats *Repeats
}

// API answers the requests that make deliveries owed. Safe for concurrent use.
type API struct {
	cfg APIConfig
	now func() time.Time
}

// NewAPI makes an API.
func NewAPI(cfg APIConfig) *API { return &API{cfg: cfg, now: time.Now} }

// Bounds of requests.
const (
	maxRequest    = 1 << 20
	maxRecover    = 1000 // deliveries owed anew by one request
	recoverRate   = 50.0 // per second, when the endpoint has no rate of its own
	maxTypeLength = 100
)

// Routes adds the endpoints; all but the last need a key with manage, that one with
// read. A delivery or endpoint of another project is a 404.
//
//	POST /api/webhooks/deliver
//	POST /api/webhooks/endpoints/{id}/test
//	POST /api/webhooks/endpoints/{id}/recover
//	POST /api/webhooks/deliveries/{id}/redeliver
//	GET  /api/webhooks/deliveries/{id}/attempts/{number}/verification
func (a *API) Routes(r chi.Router) {
	manage := r.With(httpapi.RequireScope(a.cfg.Auth, httpapi.ScopeManage))
	manage.Post("/api/webhooks/deliver", serve(a.deliver))
	manage.Post("/api/webhooks/endpoints/{id}/test", serve(a.test))
	manage.Post("/api/webhooks/endpoints/{id}/recover", serve(a.recover))
	manage.Post("/api/webhooks/deliveries/{id}/redeliver", serve(a.redeliver))
	r.With(httpapi.RequireScope(a.cfg.Auth, httpapi.ScopeRead)).
		Get("/api/webhooks/deliveries/{id}/attempts/{number}/verification", serve(a.verify))
}

func serve(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			httpapi.WriteError(w, r, err)
		}
	}
}

var typeShape = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`)

type owedAnswer struct {
	Deliveries []Delivery `json:"deliveries"`
}

func (a *API) deliver(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ProjectID  string          `json:"project_id"`
		EndpointID string          `json:"endpoint_id"`
		EventType  string          `json:"event_type"`
		Payload    json.RawMessage `json:"payload"`
	}
	if err := httpapi.DecodeJSON(w, r, maxRequest, &in); err != nil {
		return err
	}
	project, err := a.project(r, in.ProjectID)
	if err != nil {
		return err
	}
	var problems []httpapi.ParamProblem
	if in.EndpointID == "" && in.EventType == "" {
		problems = append(problems, httpapi.ParamProblem{Name: "event_type", Reason: "required, or endpoint_id"})
	}
	if in.EventType != "" && (len(in.EventType) > maxTypeLength || !typeShape.MatchString(in.EventType)) {
		problems = append(problems, httpapi.ParamProblem{Name: "event_type", Reason: "must be a type like deploy.succeeded"})
	}
	if len(in.Payload) == 0 {
		problems = append(problems, httpapi.ParamProblem{Name: "payload", Reason: "required"})
	}
	if err := httpapi.FieldErrors(problems...); err != nil {
		return err
	}
	if in.EndpointID != "" {
		if _, err := a.enabled(project, in.EndpointID); err != nil {
			return err
		}
	}
	if in.EventType == "" {
		in.EventType = "message"
	}
	o := Occasion{Project: project, Type: in.EventType, Payload: in.Payload, Endpoint: in.EndpointID}
	if key, given := r.Header[headerIdempotency]; given {
		return a.oweOnce(w, r, o, key)
	}
	return a.owe(w, r, o)
}

// owe decides an occasion that a request brought, and answers 202.
func (a *API) owe(w http.ResponseWriter, r *http.Request, o Occasion) error {
	o.At, o.Cause = a.now().UTC(), "request:"+randomID()
	made, err := a.cfg.Decider.Decide(r.Context(), o)
	if err != nil {
		return logError(err)
	}
	if made == nil {
		made = []Delivery{}
	}
	httpapi.WriteJSON(w, http.StatusAccepted, owedAnswer{made})
	return nil
}

func logError(err error) error {
	switch {
	case errors.Is(err, eventlog.ErrTooLarge):
		return httpapi.Errorf(httpapi.CodeBodyTooLarge, "the payload is larger than a record of the log may be").Because(err)
	case errors.Is(err, eventlog.ErrOverloaded):
		return httpapi.Errorf(httpapi.CodeOverloaded, "too much waits for the log; nothing is owed, send it again").Because(err).After(time.Second)
	}
	return httpapi.Errorf(httpapi.CodeUnavailable, "the log did not acknowledge the delivery; look in the list of deliveries, else send it again").Because(err).After(time.Second)
}

func (a *API) test(w http.ResponseWriter, r *http.Request) error {
	ep, err := a.own(r)
	if err != nil {
		return err
	}
	if _, err := a.enabled(ep.ProjectID, ep.ID); err != nil {
		return err
	}
	payload, _ := json.Marshal(map[string]string{"endpoint_id": ep.ID, "message": "This is a test delivery."})
	return a.owe(w, r, Occasion{Project: ep.ProjectID, Type: "webhook.test", Payload: payload, Endpoint: ep.ID, Once: true})
}

func (a *API) redeliver(w http.ResponseWriter, r *http.Request) error {
	principal := httpapi.PrincipalFrom(r.Context())
	id := chi.URLParam(r, "id")
	past, known, err := a.cfg.History.Delivery(r.Context(), principal.ProjectID, id)
	_, ours := decidedAt(id)
	switch {
	case err != nil:
		return err
	case !known || !principal.Owns(past.ProjectID):
		return httpapi.NotFound("delivery")
	case !ours:
		return httpapi.Errorf(httpapi.CodeConflict, "this delivery was reported by an integration, which alone can send it again")
	case past.Status == statusPending || past.Status == statusRetrying:
		return httpapi.Errorf(httpapi.CodeConflict, "the delivery is still %s: its next attempt comes by itself", past.Status)
	}
	if _, err := a.enabled(past.ProjectID, past.EndpointID); err != nil {
		return err
	}
	return a.again(w, r, []Past{past}, 0)
}

func (a *API) again(w http.ResponseWriter, r *http.Request, past []Past, perSecond float64) error {
	made, err := a.oweAgain(r.Context(), past, perSecond)
	if err != nil {
		return err
	}
	if len(made) == 0 {
		return httpapi.NotFound("payload of the delivery")
	}
	httpapi.WriteJSON(w, http.StatusAccepted, owedAnswer{made})
	return nil
}

func (a *API) oweAgain(ctx context.Context, past []Past, perSecond float64) ([]Delivery, error) {
	ids := make([]string, len(past))
	for i, p := range past {
		ids[i] = p.ID
	}
	records, err := find(ctx, a.cfg.Log, ids)
	if err != nil {
		return nil, logError(err)
	}
	made, err := a.cfg.Decider.again(ctx, past, records, perSecond)
	if err != nil {
		return made, logError(err)
	}
	return made, nil
}

// own finds the endpoint of the path, a 404 when it is not the caller's.
func (a *API) own(r *http.Request) (*Endpoint, error) {
	ep, known, err := a.cfg.Decider.dir.Endpoint(chi.URLParam(r, "id"))
	if !known || !httpapi.PrincipalFrom(r.Context()).Owns(ep.ProjectID) {
		return nil, httpapi.NotFound("endpoint")
	}
	if err != nil {
		return nil, httpapi.Errorf(httpapi.CodeInternal, "the endpoint's secrets cannot be opened").Because(err)
	}
	return ep, nil
}

// enabled finds an endpoint of a project that deliveries can be sent to.
func (a *API) enabled(project, id string) (*Endpoint, error) {
	ep, known, _ := a.cfg.Decider.dir.Endpoint(id)
	if !known || ep.ProjectID != project {
		return nil, httpapi.NotFound("endpoint")
	}
	if !ep.Enabled {
		return nil, httpapi.Errorf(httpapi.CodeConflict, "the endpoint is disabled: enable it first")
	}
	return ep, nil
}

// project is the key's own, or the one the admin names.
func (a *API) project(r *http.Request, named string) (string, error) {
	p := httpapi.PrincipalFrom(r.Context())
	if named == "" {
		named = p.ProjectID
	}
	if named == "" {
		return "", httpapi.FieldErrors(httpapi.ParamProblem{Name: "project_id", Reason: "required"})
	}
	if !p.Owns(named) || !a.cfg.Projects(named) {
		return "", httpapi.NotFound("project")
	}
	return named, nil
}
