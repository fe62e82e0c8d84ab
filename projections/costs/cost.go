package costs

import (
	"errors"
	"fmt"
	"time"

	"weir/projections"
	"weir/schemas"
)

const secondsPerDay = 24 * 60 * 60

// cost is the data of one cost event. Its strings point into the record.
type cost struct {
	provider, service, region, period string
	code                              string // currency, upper case
	amount                            []byte // JSON number
	fault                             error
}

// member takes one member of the data object.
func (c *cost) member(name, value []byte) bool {
	if schemas.IsNull(value) {
		return true
	}
	switch string(name) {
	case "provider":
		c.provider = c.text("provider", value)
	case "service":
		c.service = c.text("service", value)
	case "region":
		c.region = c.text("region", value)
	case "period":
		c.period = c.text("period", value)
	case "amount":
		c.amount = value
	case "currency":
		c.currency(value)
	}
	return c.fault == nil
}

// currency takes the usual form, three upper-case letters, without a copy.
func (c *cost) currency(value []byte) {
	if len(value) == len(`"EUR"`) && upper(value[1]) && upper(value[2]) && upper(value[3]) {
		c.code = projections.Text(value[1:4])
		return
	}
	var ok bool
	if c.code, ok = schemas.CurrencyCode(value); !ok {
		c.fault = errors.New("data.currency: must be three letters")
	}
}

func upper(b byte) bool { return 'A' <= b && b <= 'Z' }

func (c *cost) text(field string, value []byte) string {
	text, ok := schemas.StringBytes(value)
	if !ok {
		c.fault = fmt.Errorf("data.%s: must be a string", field)
	}
	return projections.Text(text)
}

// check is what the door checks too; the log may hold anything.
func (c *cost) check() (schemas.Decimal, error) {
	switch {
	case c.fault != nil:
		return schemas.Decimal{}, c.fault
	case c.amount == nil:
		return schemas.Decimal{}, errors.New("data.amount: required")
	case c.code == "":
		return schemas.Decimal{}, errors.New("data.currency: required")
	}
	amount, err := schemas.ParseDecimal(c.amount)
	if err != nil {
		return schemas.Decimal{}, fmt.Errorf("data.amount: %w", err)
	}
	return amount, nil
}

// billedDay is the day, counted from 1970, on which an event counts: the date of
// its ts, moved to the nearest day of the month that period names. A period that
// is no year-month (2026-11) is left out of account.
func billedDay(ts time.Time, period string) int64 {
	day := ts.Unix() / secondsPerDay
	year, month, ok := yearMonth(period)
	if !ok {
		return day
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
	last := time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix()/secondsPerDay - 1
	return min(max(day, first), last)
}

// yearMonth reads "2026-11", for the years an event's ts may have.
func yearMonth(s string) (int, time.Month, bool) {
	if len(s) != len("2006-01") || s[4] != '-' {
		return 0, 0, false
	}
	n := 0
	for i := range len(s) {
		if i == 4 {
			continue
		}
		if s[i] < '0' || s[i] > '9' {
			return 0, 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	year, month := n/100, n%100
	return year, time.Month(month), year >= 1970 && year <= 2200 && month >= 1 && month <= 12
}
