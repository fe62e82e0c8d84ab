package control

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// maxBody bounds a control request's body: none has more than a few short fields.
const maxBody = 16 << 10

// The lists' names in cursors.
const (
	projectList = "projects"
	keyList     = "keys"
)

// Routes adds the endpoints of projects and keys:
//
//	POST   /api/projects                       admin
//	GET    /api/projects                       admin
//	GET    /api/projects/{id}                  admin, or a key of it with read
//	PATCH  /api/projects/{id}                  admin
//	PATCH  /api/projects/{id}/limits           admin
//	POST   /api/projects/{id}/keys             admin, or a key of it with manage
//	GET    /api/projects/{id}/keys             admin, or a key of it with manage
//	DELETE /api/projects/{id}/keys/{key_id}    admin, or a key of it with manage
//
// A project that is not the key's own is a 404, like one that never was.
func (c *Commands) Routes(r chi.Router) {
	admin := r.With(httpapi.RequireAdmin(c.dir))
	admin.Post("/api/projects", answer(c.postProject))
	admin.Get("/api/projects", answer(c.listProjects))
	admin.Patch("/api/projects/{id}", answer(c.patchProject))
	admin.Patch("/api/projects/{id}/limits", answer(c.patchLimits))

	r.With(httpapi.RequireScope(c.dir, httpapi.ScopeRead), c.ownProject).
		Get("/api/projects/{id}", answer(c.getProject))

	manage := r.With(httpapi.RequireScope(c.dir, httpapi.ScopeManage), c.ownProject)
	manage.Post("/api/projects/{id}/keys", answer(c.postKey))
	manage.Get("/api/projects/{id}/keys", answer(c.listKeys))
	manage.Delete("/api/projects/{id}/keys/{key_id}", answer(c.deleteKey))
}

// answer lets a handler return its error; the handler wrote nothing then.
func answer(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			httpapi.WriteError(w, r, err)
		}
	}
}

// ownProject answers 404 for a project that does not exist for the caller.
func (c *Commands) ownProject(next http.Handler) http.Handler {
	return answer(func(w http.ResponseWriter, r *http.Request) error {
		id := chi.URLParam(r, "id")
		_, exists := c.dir.Project(id)
		if !exists || !httpapi.PrincipalFrom(r.Context()).Owns(id) {
			return httpapi.NotFound("project")
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

type createdProject struct {
	ProjectID     string    `json:"project_id"`
	Name          string    `json:"name"`
	APIKey        string    `json:"api_key"`
	WebhookSecret string    `json:"webhook_secret"`
	KeyID         string    `json:"key_id"`
	CreatedAt     time.Time `json:"created_at"`
}

func (c *Commands) postProject(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Name string `json:"name"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	made, err := c.CreateProject(r.Context(), httpapi.PrincipalFrom(r.Context()), in.Name)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusCreated, createdProject{
		ProjectID: made.Project.ID, Name: made.Project.Name, CreatedAt: made.Project.CreatedAt,
		KeyID: made.KeyID, APIKey: made.APIKey.Reveal(), WebhookSecret: made.WebhookSecret.Reveal(),
	})
	return nil
}

func (c *Commands) listProjects(w http.ResponseWriter, r *http.Request) error {
	limit, after, err := pageOf(r, projectList)
	if err != nil {
		return err
	}
	projects, ok := c.dir.Projects(after, limit+1)
	if !ok {
		return badCursor()
	}
	return writePage(w, projectList, limit, projects, func(p Project) string { return p.ID })
}

func (c *Commands) getProject(w http.ResponseWriter, r *http.Request) error {
	p, ok := c.dir.Project(chi.URLParam(r, "id"))
	if !ok {
		return httpapi.NotFound("project")
	}
	httpapi.WriteJSON(w, http.StatusOK, p)
	return nil
}

// pageOf reads limit and cursor; after is the id the page goes on from, "" for the first.
func pageOf(r *http.Request, list string) (limit int, after string, err error) {
	p := httpapi.NewParams(r.URL.Query())
	limit = p.Limit()
	p.Cursor(list, &after)
	return limit, after, p.Err()
}

func badCursor() error {
	return httpapi.ParamErrors(httpapi.ParamProblem{Name: "cursor", Reason: "names nothing in this list: start again without it"})
}

// writePage writes the first limit of items; one more than that says that there is a next page.
func writePage[T any](w http.ResponseWriter, list string, limit int, items []T, id func(T) string) error {
	next := ""
	if len(items) > limit {
		items = items[:limit]
		var err error
		if next, err = httpapi.EncodeCursor(list, id(items[limit-1])); err != nil {
			return err
		}
	}
	httpapi.WriteJSON(w, http.StatusOK, httpapi.NewPage(items, next))
	return nil
}
