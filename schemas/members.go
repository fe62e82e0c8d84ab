package schemas

import "errors"

// ErrMalformed is what the reading side answers to bytes that are not the JSON
// it was told to expect. The door lets no such event in, so it means that the
// log was written by something else, or damaged.
var ErrMalformed = errors.New("malformed JSON")

// Members calls fn for each member of a JSON object, in order, until fn returns
// false. name is decoded and valid during the call; value is raw JSON and
// aliases object. It allocates only for escaped names. The object is verified
// up to where the walk ends: ErrMalformed may come after calls of fn.
func Members(object []byte, fn func(name, value []byte) bool) error {
	s := scanner{body: object}
	i := s.space(0)
	if s.at(i) != '{' {
		return ErrMalformed
	}
	if i = s.space(i + 1); s.at(i) == '}' {
		return s.nothingAfter(i + 1)
	}
	for {
		nameEnd, at, _ := s.member(i)
		if at == failed {
			return ErrMalformed
		}
		end := s.value(at, 1)
		if end == failed {
			return ErrMalformed
		}
		text, _ := StringBytes(object[i:nameEnd])
		if !fn(text, object[at:end:end]) {
			return nil
		}
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return s.nothingAfter(i + 1)
		default:
			return ErrMalformed
		}
	}
}

// Member returns the raw value of the first member of that name. ok is false
// when there is none or the object is malformed before it.
func Member(object []byte, name string) (value []byte, ok bool) {
	_ = Members(object, func(n, v []byte) bool {
		if ok = string(n) == name; ok {
			value = v
		}
		return !ok
	})
	return value, ok
}

// Elements calls fn for each element of a JSON array, in order, until fn
// returns false. value is raw JSON and aliases array. Errors are as for
// Members.
func Elements(array []byte, fn func(value []byte) bool) error {
	s := scanner{body: array}
	i := s.space(0)
	if s.at(i) != '[' {
		return ErrMalformed
	}
	if i = s.space(i + 1); s.at(i) == ']' {
		return s.nothingAfter(i + 1)
	}
	for {
		end := s.value(i, 1)
		if end == failed {
			return ErrMalformed
		}
		if !fn(array[i:end:end]) {
			return nil
		}
		i = s.space(end)
		switch s.at(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return s.nothingAfter(i + 1)
		default:
			return ErrMalformed
		}
	}
}

// nothingAfter checks that only white space follows.
func (s *scanner) nothingAfter(i int) error {
	if s.space(i) != len(s.body) {
		return ErrMalformed
	}
	return nil
}
