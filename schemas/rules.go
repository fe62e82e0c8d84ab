package schemas

import (
	"math"
	"slices"
)

// rule is a Definition made ready for the hot path: every reason is written
// out once, and a field is found by name in one probe.
type rule struct {
	fields []fieldRule
	anyOf  uint32 // set of fields; 0 for no such rule
	noneOf string // the reason when none of anyOf is present

	mix   uint32
	slots [ruleSlots]uint8 // field number plus one
}

// fieldRule is a Field with its reasons.
type fieldRule struct {
	Field
	required, mismatch, outOfRange string
}

const (
	// maxFields bounds the fields of one type.
	maxFields = 12
	ruleSlots = 64
)

// rules are the definitions made ready, by type.
var rules = compile(definitions)

func compile(definitions [typeCount]Definition) (all [typeCount]rule) {
	for t, d := range definitions {
		if int(d.Type) != t || len(d.Fields) > maxFields {
			panic("schemas: the definition of " + Type(t).String() + " has the wrong type or too many fields")
		}
		r := &all[t]
		for i, f := range d.Fields {
			path := "data." + f.Name
			r.fields = append(r.fields, fieldRule{
				Field:      f,
				required:   path + ": required",
				mismatch:   path + ": must be " + f.Kind.String(),
				outOfRange: path + ": out of range",
			})
			if slices.Contains(d.AnyOf, f.Name) {
				r.anyOf |= 1 << i
			}
		}
		if len(d.AnyOf) > 0 {
			r.noneOf = "data." + d.AnyOf[0] + ": required"
		}
		r.spread()
	}
	return all
}

// spread looks for a mix under which no two fields share a slot.
func (r *rule) spread() {
	for r.mix = 1; r.mix < math.MaxUint16; r.mix += 2 {
		r.slots = [ruleSlots]uint8{}
		if r.fill() {
			return
		}
	}
	panic("schemas: two fields of one type have the same name")
}

func (r *rule) fill() bool {
	for i := range r.fields {
		slot := &r.slots[r.slot([]byte(r.fields[i].Name))]
		if *slot != 0 {
			return false
		}
		*slot = uint8(i + 1)
	}
	return true
}

// slot hashes a name of at least one byte.
func (r *rule) slot(name []byte) uint32 {
	h := uint32(name[0]) | uint32(name[len(name)-1])<<8 | uint32(name[len(name)/2])<<16
	return ((h + uint32(len(name))) * r.mix * 0x9e3779b1) >> 26
}

// find returns the number of the field of that name, or -1.
func (r *rule) find(name []byte) int {
	if len(name) == 0 {
		return -1
	}
	f := int(r.slots[r.slot(name)]) - 1
	if f < 0 || r.fields[f].Name != string(name) {
		return -1
	}
	return f
}
