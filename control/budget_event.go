package control

import (
	"errors"
	"slices"
	"time"
)

var errNoBudget = errors.New("unknown_budget")

// budget is what a project means to spend in a calendar month (UTC) at most, in one
// currency, on what its scope names.
type budget struct {
	id, name string
	amount   string // exact decimal, above 0
	currency string // three upper-case letters
	scope    costScope
	version  int // grows with every change
	created  time.Time
}

// costScope are costs; "" is any.
type costScope struct {
	Provider string `json:"provider,omitempty"`
	Service  string `json:"service,omitempty"`
	Region   string `json:"region,omitempty"`
}

// budgetSet makes a budget, or changes its name and amount.
type budgetSet struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	costScope
}

type budgetDeleted struct {
	ID string `json:"id"`
}

func (budgetSet) kind() string     { return "budget.set" }
func (budgetDeleted) kind() string { return "budget.deleted" }

func init() {
	for _, empty := range []func() fact{func() fact { return &budgetSet{} }, func() fact { return &budgetDeleted{} }} {
		newFact[empty().kind()] = empty
	}
}

func (p *project) budget(id string) int {
	return slices.IndexFunc(p.budgets, func(b budget) bool { return b.id == id })
}

func (f budgetSet) apply(s *state, e event) error {
	if f.ID == "" || f.Amount == "" || f.Currency == "" {
		return errNonsense
	}
	return s.change(e, func(p *project) {
		made := budget{id: f.ID, name: f.Name, amount: f.Amount, currency: f.Currency, scope: f.costScope, version: 1, created: e.at}
		budgets := slices.Clone(p.budgets) // readers may hold the old ones
		if i := p.budget(f.ID); i >= 0 {
			made.version, made.created = budgets[i].version+1, budgets[i].created
			budgets[i] = made
		} else {
			budgets = append(budgets, made)
		}
		p.budgets = budgets
	})
}

func (f budgetDeleted) apply(s *state, e event) error {
	unknown := false
	err := s.change(e, func(p *project) {
		unknown = p.budget(f.ID) < 0
		p.budgets = slices.DeleteFunc(slices.Clone(p.budgets), func(b budget) bool { return b.id == f.ID })
	})
	if err == nil && unknown {
		return errNoBudget
	}
	return err
}
