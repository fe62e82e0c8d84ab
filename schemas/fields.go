package schemas

import "math"

// Kind is what a field's value must be.
type Kind uint8

// The kinds of fields. JSON knows one sort of number; the kinds below divide
// it by what a read model can hold exactly.
const (
	// Text is a JSON string of any length, the empty one included.
	Text Kind = iota
	// Integer is a JSON number whose value is whole and within the field's Min
	// and Max. 200.0 and 2e2 are whole: JSON has no integer type, and several
	// languages print whole floats so. 1.5 "must be an integer".
	Integer
	// Number is a JSON number within the range of an IEEE 754 double; 1e400 is
	// out of range, 1e-400 is read as zero.
	Number
	// Amount is a JSON number that a Decimal holds exactly.
	Amount
	// Currency is a string of three ASCII letters in either case.
	Currency
	// Boolean is true or false.
	Boolean
	// Object is a free-form JSON object; numbers in it are kept as sent.
	Object
)

// kindNames are the words of "must be …", indexed by Kind.
var kindNames = [...]string{
	Text:     "a string",
	Integer:  "an integer",
	Number:   "a number",
	Amount:   "a number",
	Currency: "three letters",
	Boolean:  "a boolean",
	Object:   "an object",
}

// String returns the words that follow "must be" in a reason: "a string".
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Field is one listed member of an event's data.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	// Min and Max bound an Integer, both inclusive. Zero for other kinds.
	Min, Max int64
}

// Definition is what a type's data must look like. Members that are not listed
// are kept as sent.
type Definition struct {
	Type   Type
	Fields []Field
	// AnyOf names fields of which at least one must be present; a reason names
	// the first. Empty when there is no such rule.
	AnyOf []string
}

// DefinitionOf returns the definition of t, which must be valid. It is shared:
// read it, never write it.
func DefinitionOf(t Type) Definition { return definitions[t] }

// The words of the table in definitions.go.

const required = true

// Bounds of integers that are narrower than 64 bits.
const (
	maxStatusCode = math.MaxUint16 // HTTP's codes, and others such as WebSocket close codes
	maxAttempt    = math.MaxInt32
)

func text(name string, req ...bool) Field     { return field(name, Text, req) }
func number(name string, req ...bool) Field   { return field(name, Number, req) }
func amount(name string, req ...bool) Field   { return field(name, Amount, req) }
func currency(name string, req ...bool) Field { return field(name, Currency, req) }
func boolean(name string) Field               { return field(name, Boolean, nil) }
func object(name string) Field                { return field(name, Object, nil) }

func integer(name string, lowest, highest int64) Field {
	return Field{Name: name, Kind: Integer, Min: lowest, Max: highest}
}

func field(name string, kind Kind, req []bool) Field {
	return Field{Name: name, Kind: kind, Required: len(req) > 0 && req[0]}
}
