package control

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// BudgetRoutes adds the endpoints of budgets:
//
//	GET    /api/cost/budgets       a key with read
//	POST   /api/cost/budgets       a key with manage
//	PATCH  /api/cost/budgets/{id}  a key with manage
//	DELETE /api/cost/budgets/{id}  a key with manage
//
// The admin may do all of it. A budget of another project is a 404.
func (c *Commands) BudgetRoutes(r chi.Router) {
	b := budgetRoutes{&endpointRoutes{Commands: c}}
	r.With(httpapi.RequireScope(c.dir, httpapi.ScopeRead)).Get("/api/cost/budgets", answer(b.list))
	manage := r.With(httpapi.RequireScope(c.dir, httpapi.ScopeManage))
	manage.Post("/api/cost/budgets", answer(b.post))
	manage.Patch("/api/cost/budgets/{id}", answer(b.patch))
	manage.Delete("/api/cost/budgets/{id}", answer(b.delete))
}

type budgetRoutes struct{ *endpointRoutes }

// list answers with all of them: there are at most maxProjectBudgets.
func (b budgetRoutes) list(w http.ResponseWriter, r *http.Request) error {
	project, err := httpapi.ProjectFrom(r)
	if err != nil {
		return err
	}
	budgets := b.dir.Budgets(project)
	if budgets == nil {
		return httpapi.NotFound("project")
	}
	httpapi.WriteJSON(w, http.StatusOK, httpapi.NewPage(budgets, ""))
	return nil
}

func (b budgetRoutes) post(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ProjectID string  `json:"project_id"`
		Name      *string `json:"name"`
		Amount    *string `json:"amount"`
		Currency  string  `json:"currency"`
		Provider  string  `json:"provider"`
		Service   string  `json:"service"`
		Region    string  `json:"region"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	project, err := b.projectOf(r, in.ProjectID)
	if err != nil {
		return err
	}
	made, err := b.CreateBudget(r.Context(), httpapi.PrincipalFrom(r.Context()), project, BudgetSpec{
		Name: in.Name, Amount: in.Amount, Currency: in.Currency, Provider: in.Provider, Service: in.Service, Region: in.Region})
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusCreated, made)
	return nil
}

func (b budgetRoutes) patch(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Name   *string `json:"name"`
		Amount *string `json:"amount"`
	}
	if err := httpapi.DecodeJSON(w, r, maxBody, &in); err != nil {
		return err
	}
	project, err := b.owner(r)
	if err != nil {
		return err
	}
	changed, err := b.ChangeBudget(r.Context(), httpapi.PrincipalFrom(r.Context()), project, chi.URLParam(r, "id"), BudgetSpec{Name: in.Name, Amount: in.Amount})
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, changed)
	return nil
}

func (b budgetRoutes) delete(w http.ResponseWriter, r *http.Request) error {
	project, err := b.owner(r)
	if err != nil {
		return err
	}
	if err := b.DeleteBudget(r.Context(), httpapi.PrincipalFrom(r.Context()), project, chi.URLParam(r, "id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// owner is the project of the budget in the path, a 404 when it is not the caller's.
func (b budgetRoutes) owner(r *http.Request) (string, error) {
	project, known := b.dir.budgetOwner(chi.URLParam(r, "id"))
	if !known || !httpapi.PrincipalFrom(r.Context()).Owns(project) {
		return "", httpapi.NotFound("budget")
	}
	return project, nil
}
