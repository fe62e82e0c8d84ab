package costs

import (
	"fmt"
	"time"

	"weir/schemas"
)

// Bill says which sums a cost event adds to, as the fold has it.
type Bill struct {
	Provider, Service, Region string
	Currency                  string
	Month                     time.Time // its first day, UTC
}

// ReadBill reads it. The error is why the fold would not take the event.
func ReadBill(e schemas.Envelope) (Bill, error) {
	var c cost
	if err := schemas.Members(e.Data, c.member); err != nil {
		return Bill{}, fmt.Errorf("data: %w", err)
	}
	if _, err := c.check(); err != nil {
		return Bill{}, err
	}
	day := time.Unix(billedDay(e.TS, c.period)*secondsPerDay, 0).UTC()
	return Bill{Provider: c.provider, Service: c.service, Region: c.region, Currency: c.code,
		Month: time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)}, nil
}
