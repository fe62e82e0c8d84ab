package main

import (
	"context"
	"encoding/json"
	"strconv"

	"weir/control"
	"weir/eventlog"
	"weir/projections/costs"
	"weir/readmodel"
	"weir/schemas"
	"weir/webhooks"
)

// overBudgets finds months whose costs are over a budget: told once for each budget,
// month and amount.
type overBudgets struct {
	directory *control.Directory
	reader    *readmodel.Reader
}

func (o overBudgets) read(r *eventlog.Record) []webhooks.Notice {
	budgets := o.directory.Budgets(string(r.Key))
	if len(budgets) == 0 {
		return nil
	}
	e, err := schemas.Open(r.Value)
	if err != nil || e.Type != schemas.Cost {
		return nil
	}
	bill, err := costs.ReadBill(e)
	if err != nil {
		return nil
	}
	var notices []webhooks.Notice
	for _, b := range budgets {
		if b.Currency != bill.Currency || !within(b.Provider, bill.Provider) || !within(b.Service, bill.Service) || !within(b.Region, bill.Region) {
			continue
		}
		month := bill.Month.Format("2006-01")
		notices = append(notices, webhooks.Notice{
			Type: "cost.budget.exceeded", First: thing("budget", b.ID+"\x00"+strconv.Itoa(b.Version)+"\x00"+month),
			Check: func(ctx context.Context) (json.RawMessage, bool, error) { return o.check(ctx, b, bill, folded(r)) },
		})
	}
	return notices
}

func within(scope *string, value string) bool { return scope == nil || *scope == value }

func (o overBudgets) check(ctx context.Context, b control.Budget, bill costs.Bill, at eventlog.Position) (json.RawMessage, bool, error) {
	spent, over, err := o.reader.Spent(ctx, readmodel.SpentQuery{
		Project: b.ProjectID, Month: bill.Month, Currency: b.Currency,
		Provider: b.Provider, Service: b.Service, Region: b.Region, Over: b.Amount,
	}, eventlog.Positions{at})
	if err != nil || !over {
		return nil, false, err
	}
	told, err := json.Marshal(struct {
		BudgetID string  `json:"budget_id"`
		Name     string  `json:"name"`
		Period   string  `json:"period"`
		Currency string  `json:"currency"`
		Amount   string  `json:"amount"`
		Spent    string  `json:"spent"`
		Provider *string `json:"provider"`
		Service  *string `json:"service"`
		Region   *string `json:"region"`
	}{b.ID, b.Name, bill.Month.Format("2006-01"), b.Currency, b.Amount, spent, b.Provider, b.Service, b.Region})
	return told, err == nil, err
}
