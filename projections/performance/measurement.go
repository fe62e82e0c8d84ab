package performance

import (
	"errors"
	"fmt"

	"weir/projections"
	"weir/schemas"
)

// measurement is the data of one performance event. Its strings point into the record.
type measurement struct {
	metric, unit, service string
	value                 float64
	named, measured       bool
	fault                 error
}

// member takes one member of the data object.
func (m *measurement) member(name, value []byte) bool {
	if schemas.IsNull(value) {
		return true
	}
	switch string(name) {
	case "metric":
		m.metric, m.named = m.text("metric", value), true
	case "unit":
		m.unit = m.text("unit", value)
	case "service":
		m.service = m.text("service", value)
	case "value":
		if m.value, m.measured = schemas.Float(value); !m.measured {
			m.fault = errors.New("data.value: must be a number")
		}
	}
	return m.fault == nil
}

func (m *measurement) text(field string, value []byte) string {
	text, ok := schemas.StringBytes(value)
	if !ok {
		m.fault = fmt.Errorf("data.%s: must be a string", field)
	}
	return projections.Text(text)
}

// check is what the door checks too; the log may hold anything.
func (m *measurement) check() error {
	switch {
	case m.fault != nil:
		return m.fault
	case !m.named:
		return errors.New("data.metric: required")
	case !m.measured:
		return errors.New("data.value: required")
	}
	return nil
}
