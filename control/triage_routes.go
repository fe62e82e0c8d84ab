package control

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/eventlog"
	"weir/internal/httpapi"
)

// headerPosition says how far the log must be folded: by a request, before it
// is decided; by an answer, for a read to show what was decided.
const headerPosition = "X-Service-Log-Position"

// Routes adds the endpoints of triage, all for the admin or a key of the
// project with manage:
//
//	POST /api/errors/groups/{fingerprint}/status   resolve, ignore, reopen
//	POST /api/errors/groups/{fingerprint}/merge    into another group
//	POST /api/errors/groups/{fingerprint}/unmerge  out of it again
//
// A group of another project than the key's is a 404.
func (t *Triage) Routes(r chi.Router) {
	manage := r.With(httpapi.RequireScope(t.commands.dir, httpapi.ScopeManage))
	manage.Post("/api/errors/groups/{fingerprint}/status", answer(t.postStatus))
	manage.Post("/api/errors/groups/{fingerprint}/merge", answer(t.postMerge))
	manage.Post("/api/errors/groups/{fingerprint}/unmerge", answer(t.postUnmerge))
}

// decidedGroup is what the endpoints answer. The status of the list can differ:
// a group is regressed or ignored no more by what happened meanwhile.
type decidedGroup struct {
	Fingerprint       string     `json:"fingerprint"`
	ProjectID         string     `json:"project_id"`
	Status            string     `json:"status,omitempty"`
	ResolvedInRelease string     `json:"resolved_in_release,omitempty"`
	IgnoredUntil      *time.Time `json:"ignored_until,omitempty"`
	IgnoredUntilCount int64      `json:"ignored_until_count,omitempty"`
	Merged            string     `json:"merged,omitempty"`   // what is part of the group now
	Unmerged          string     `json:"unmerged,omitempty"` // what is a group of its own again
	Reason            string     `json:"reason,omitempty"`
}

func (t *Triage) postStatus(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Status            string     `json:"status"`
		ResolvedInRelease string     `json:"resolved_in_release"`
		IgnoredUntil      *time.Time `json:"ignored_until"`
		IgnoredUntilCount *int64     `json:"ignored_until_count"`
		Reason            string     `json:"reason"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	d := Decision{Status: in.Status, ResolvedInRelease: in.ResolvedInRelease, IgnoredUntil: in.IgnoredUntil, Reason: in.Reason}
	if in.IgnoredUntilCount != nil {
		if d.IgnoredUntilCount = *in.IgnoredUntilCount; d.IgnoredUntilCount == 0 {
			d.IgnoredUntilCount = -1 // given, and not a number that can be reached
		}
	}
	project, after, err := about(r)
	if err != nil {
		return err
	}
	g, at, err := t.Decide(r.Context(), httpapi.PrincipalFrom(r.Context()), project, chi.URLParam(r, "fingerprint"), d, after)
	return writeDecided(w, at, decidedGroup{
		Fingerprint: g.Fingerprint, ProjectID: g.ProjectID, Status: d.Status, ResolvedInRelease: d.ResolvedInRelease,
		IgnoredUntil: d.IgnoredUntil, IgnoredUntilCount: d.IgnoredUntilCount, Reason: d.Reason,
	}, err)
}

func (t *Triage) postMerge(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Into   string `json:"into"`
		Reason string `json:"reason"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	if in.Into == "" {
		return httpapi.FieldErrors(httpapi.ParamProblem{Name: "into", Reason: "required"})
	}
	project, after, err := about(r)
	if err != nil {
		return err
	}
	merged := chi.URLParam(r, "fingerprint")
	g, at, err := t.Merge(r.Context(), httpapi.PrincipalFrom(r.Context()), project, merged, in.Into, in.Reason, after)
	return writeDecided(w, at, decidedGroup{Fingerprint: g.Fingerprint, ProjectID: g.ProjectID, Merged: merged, Reason: in.Reason}, err)
}

func (t *Triage) postUnmerge(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	project, after, err := about(r)
	if err != nil {
		return err
	}
	g, at, err := t.Unmerge(r.Context(), httpapi.PrincipalFrom(r.Context()), project, chi.URLParam(r, "fingerprint"), in.Reason, after)
	return writeDecided(w, at, decidedGroup{Fingerprint: g.Fingerprint, ProjectID: g.ProjectID, Unmerged: g.Asked, Reason: in.Reason}, err)
}

// about is the project the request may look in, "" for every one, and what must be folded first.
func about(r *http.Request) (string, eventlog.Positions, error) {
	after, err := eventlog.ParsePositions(r.Header.Get(headerPosition))
	if err != nil {
		return "", nil, httpapi.ParamErrors(httpapi.ParamProblem{Name: headerPosition, Reason: err.Error()})
	}
	if httpapi.PrincipalFrom(r.Context()).Admin && r.URL.Query().Get("project_id") == "" {
		return "", after, nil
	}
	project, err := httpapi.ProjectFrom(r)
	return project, after, err
}

func writeDecided(w http.ResponseWriter, at eventlog.Positions, g decidedGroup, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set(headerPosition, at.String())
	httpapi.WriteJSON(w, http.StatusOK, g)
	return nil
}
