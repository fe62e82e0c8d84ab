package control

import (
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// limitField is one limit in a request: absent, null or a whole number.
// Anything else is remembered, so that the answer can name the field.
type limitField struct {
	given, bad bool
	to         Limit
}

// UnmarshalJSON never fails; see bad.
func (f *limitField) UnmarshalJSON(b []byte) error {
	f.given = true
	f.bad = json.Unmarshal(b, &f.to) != nil
	return nil
}

// limitsBody is the body of PATCH …/limits, and the member limits of PATCH …/{id}.
type limitsBody struct {
	EventsPerSecond  limitField `json:"events_per_second"`
	BatchesPerSecond limitField `json:"batches_per_second"`
	BatchBytes       limitField `json:"batch_bytes"`
}

func (b limitsBody) limits() (map[string]Limit, error) {
	out := map[string]Limit{}
	var problems []httpapi.ParamProblem
	for _, f := range []struct {
		name  string
		field limitField
	}{{limitEvents, b.EventsPerSecond}, {limitBatches, b.BatchesPerSecond}, {limitBytes, b.BatchBytes}} {
		switch {
		case f.field.bad:
			problems = append(problems, httpapi.ParamProblem{Name: f.name, Reason: rangeReason(f.name)})
		case f.field.given:
			out[f.name] = f.field.to
		}
	}
	return out, httpapi.FieldErrors(problems...)
}

func (c *Commands) patchProject(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Name     *string    `json:"name"`
		Operator *bool      `json:"operator"`
		Limits   limitsBody `json:"limits"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	return c.change(w, r, Change{Name: in.Name, Operator: in.Operator}, in.Limits)
}

func (c *Commands) patchLimits(w http.ResponseWriter, r *http.Request) error {
	var in limitsBody
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	return c.change(w, r, Change{}, in)
}

func (c *Commands) change(w http.ResponseWriter, r *http.Request, ch Change, limits limitsBody) (err error) {
	if ch.Limits, err = limits.limits(); err != nil {
		return err
	}
	p, err := c.ChangeProject(r.Context(), httpapi.PrincipalFrom(r.Context()), chi.URLParam(r, "id"), ch)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, p)
	return nil
}

type createdKey struct {
	Key
	APIKey string `json:"api_key"`
}

func (c *Commands) postKey(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	scopes, err := httpapi.ParseScopes(in.Scopes)
	if err != nil {
		return httpapi.FieldErrors(httpapi.ParamProblem{Name: "scopes", Reason: err.Error()})
	}
	made, err := c.CreateKey(r.Context(), httpapi.PrincipalFrom(r.Context()), chi.URLParam(r, "id"), in.Name, scopes)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusCreated, createdKey{Key: made.Key, APIKey: made.APIKey.Reveal()})
	return nil
}

func (c *Commands) listKeys(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r, keyList)
	if err != nil {
		return err
	}
	keys, ok := c.dir.Keys(chi.URLParam(r, "id"), after, limit+1)
	if !ok {
		return badCursor()
	}
	return writePage(w, keyList, limit, keys, func(k Key) string { return k.ID })
}

func (c *Commands) deleteKey(w http.ResponseWriter, r *http.Request) error {
	err := c.RevokeKey(r.Context(), httpapi.PrincipalFrom(r.Context()), chi.URLParam(r, "id"), chi.URLParam(r, "key_id"))
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
