package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/httpapi"
	"weir/schemas"
)

const (
	budgetPrefix = "bud_"

	// maxProjectBudgets bounds what is asked for each cost event of a project.
	maxProjectBudgets = 100
)

// Budget is what a project means to spend in a calendar month (UTC) at most.
type Budget struct {
	ID        string    `json:"id"`
	ProjectID string    `json:"project_id"`
	Name      string    `json:"name"`
	Amount    string    `json:"amount"` // exact decimal
	Currency  string    `json:"currency"`
	Provider  *string   `json:"provider"` // nil: any
	Service   *string   `json:"service"`
	Region    *string   `json:"region"`
	Version   int       `json:"version"` // grows with every change
	CreatedAt time.Time `json:"created_at"`
}

// Budgets returns a project's budgets, newest first; nil when there is no such project.
func (d *Directory) Budgets(projectID string) []Budget {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, ok := d.state.projects[projectID]
	if !ok {
		return nil
	}
	all := make([]Budget, 0, len(p.budgets))
	for _, b := range slices.Backward(p.budgets) {
		all = append(all, b.view(p.id))
	}
	return all
}

func (b budget) view(project string) Budget {
	some := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return Budget{ID: b.id, ProjectID: project, Name: b.name, Amount: b.amount, Currency: b.currency, Version: b.version, CreatedAt: b.created.UTC(),
		Provider: some(b.scope.Provider), Service: some(b.scope.Service), Region: some(b.scope.Region)}
}

func (d *Directory) budget(projectID, id string) (Budget, bool) {
	for _, b := range d.Budgets(projectID) {
		if b.ID == id {
			return b, true
		}
	}
	return Budget{}, false
}

// BudgetSpec is what a budget is made of; in a change what is nil stays, and only
// Name and Amount can be given.
type BudgetSpec struct {
	Name, Amount              *string
	Currency                  string
	Provider, Service, Region string
}

// CreateBudget makes a budget. Repeating it makes another.
func (c *Commands) CreateBudget(ctx context.Context, by httpapi.Principal, projectID string, spec BudgetSpec) (Budget, error) {
	id := budgetPrefix + randomBase62(projectIDRandom)
	made := budgetSet{ID: id, Currency: spec.Currency, costScope: costScope{spec.Provider, spec.Service, spec.Region}}
	if err := c.run(ctx, actor(by), projectID, setBudget{projectID, made, spec, true}); err != nil {
		return Budget{}, err
	}
	b, _ := c.dir.budget(projectID, id)
	return b, nil
}

// ChangeBudget changes a budget's name or amount. A month that is over the new
// amount is told about again.
func (c *Commands) ChangeBudget(ctx context.Context, by httpapi.Principal, projectID, id string, spec BudgetSpec) (Budget, error) {
	if err := c.run(ctx, actor(by), projectID, setBudget{projectID, budgetSet{ID: id}, spec, false}); err != nil {
		return Budget{}, err
	}
	b, _ := c.dir.budget(projectID, id)
	return b, nil
}

// DeleteBudget ends a budget.
func (c *Commands) DeleteBudget(ctx context.Context, by httpapi.Principal, projectID, id string) error {
	return c.run(ctx, actor(by), projectID, deleteBudget{projectID, id})
}

type setBudget struct {
	project string
	set     budgetSet
	spec    BudgetSpec
	create  bool
}

func (c setBudget) name() string {
	if c.create {
		return "create_budget"
	}
	return "change_budget"
}

func (c setBudget) decide(s *state) ([]fact, error) {
	p, ok := s.projects[c.project]
	if !ok {
		return nil, httpapi.NotFound("project")
	}
	i, f := p.budget(c.set.ID), c.set
	switch {
	case c.create && i >= 0:
		return nil, drawnTwice()
	case c.create && len(p.budgets) >= maxProjectBudgets:
		return nil, httpapi.Errorf(httpapi.CodeConflict, "the project has %d budgets, the most there can be: delete one first", maxProjectBudgets)
	case !c.create && i < 0:
		return nil, httpapi.NotFound("budget")
	case !c.create:
		b := p.budgets[i]
		f = budgetSet{ID: b.id, Name: b.name, Amount: b.amount, Currency: b.currency, costScope: b.scope}
	}
	was := f
	if c.spec.Name != nil {
		f.Name = *c.spec.Name
	}
	if c.spec.Amount != nil {
		f.Amount = *c.spec.Amount
	}
	if err := f.check(); err != nil || f == was {
		return nil, err
	}
	return []fact{f}, nil
}

const maxScopeBytes = 256

// check names every field that is wrong, and writes the amount and the currency as they are kept.
func (f *budgetSet) check() error {
	var bad []httpapi.ParamProblem
	no := func(field, reason string) { bad = append(bad, httpapi.ParamProblem{Name: field, Reason: reason}) }
	amount, err := schemas.ParseDecimal([]byte(f.Amount))
	switch {
	case f.Amount == "":
		no("amount", "required")
	case err != nil || amount.BigInt().Sign() <= 0:
		no("amount", `must be a number above 0 in a string, such as "1500.00"`)
	default:
		f.Amount = amount.String()
	}
	quoted, _ := json.Marshal(f.Currency)
	if code, ok := schemas.CurrencyCode(quoted); ok {
		f.Currency = code
	} else {
		no("currency", "must be three letters, such as EUR")
	}
	if err := checkName("name", f.Name, false); err != nil {
		no("name", fmt.Sprintf("must be at most %d characters without control characters", maxNameRunes))
	}
	for name, value := range map[string]string{"provider": f.Provider, "service": f.Service, "region": f.Region} {
		if len(value) > maxScopeBytes || strings.ContainsRune(value, 0) {
			no(name, fmt.Sprintf("must be at most %d bytes", maxScopeBytes))
		}
	}
	return httpapi.FieldErrors(bad...)
}

type deleteBudget struct{ project, id string }

func (deleteBudget) name() string { return "delete_budget" }

func (c deleteBudget) decide(s *state) ([]fact, error) {
	p, ok := s.projects[c.project]
	if !ok || p.budget(c.id) < 0 {
		return nil, httpapi.NotFound("budget")
	}
	return []fact{budgetDeleted{ID: c.id}}, nil
}

// budgetOwner looks in every project: budgets are changed rarely.
func (d *Directory) budgetOwner(id string) (project string, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.state.projects {
		if p.budget(id) >= 0 {
			return p.id, true
		}
	}
	return "", false
}
