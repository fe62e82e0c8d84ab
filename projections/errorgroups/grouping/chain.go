package grouping

import "strings"

// cause is one link of a chain as the sender gave it.
type cause struct {
	Exception
	// id and next tie links together where the sender gave ids: next is the id of this one's cause.
	id, next string
	// below are the causes nested in this one.
	below []cause
}

// readChain reads explicit causes, outermost first: one exception with its cause nested in it, an array, an
// object with "values" (root cause first, by the custom of those who send it), or a text.
// Ids that go in a circle end the chain where they meet it again.
func readChain(value string) []Exception {
	budget := 2 * maxLinks // arrays take from it like the exceptions in them
	causes := readCauses(value, &budget)
	causes = orderByID(causes)
	var chain []Exception
	flatten(causes, &chain)
	return chain
}

// flatten puts nested causes behind those that hold them.
func flatten(causes []cause, chain *[]Exception) {
	for _, c := range causes {
		*chain = append(*chain, c.Exception)
		flatten(c.below, chain)
	}
}

// readCauses reads as many causes as the budget has left. Each level takes from it, so that depth is
// bounded with it.
func readCauses(value string, budget *int) []cause {
	var causes []cause
	switch {
	case strings.HasPrefix(value, "["):
		if *budget--; *budget < 0 {
			return nil
		}
		elements(value, func(v string) bool {
			causes = append(causes, readCauses(v, budget)...)
			return *budget > 0
		})
	case strings.HasPrefix(value, "{"):
		if *budget > 0 {
			*budget--
			return readCause(value, budget)
		}
	default:
		if s := text(value); s != "" && *budget > 0 {
			*budget--
			typ, message := splitHeader(clip(s, maxMessageBytes))
			causes = append(causes, cause{Exception: Exception{Type: typ, Message: message, Relation: "cause"}})
		}
	}
	return causes
}

// readCause reads one cause, or the "values" that hold several.
func readCause(value string, budget *int) []cause {
	c := cause{Exception: Exception{Relation: "cause"}}
	var values []cause
	members(value, func(key, v string) bool {
		if key == "values" {
			values = readCauses(v, budget)
			reverse(values)
			return true
		}
		c.set(key, v, budget)
		return true
	})
	if len(values) > 0 {
		return values
	}
	return []cause{c}
}

// set takes one member of a cause.
func (c *cause) set(key, value string, budget *int) {
	switch key {
	case "type", "name", "class", "errorClass", "className":
		c.Type = text(value)
	case "message", "value", "description", "msg":
		c.Message = text(value)
	case "stack", "stacktrace", "stack_trace", "stackTrace", "frames", "backtrace":
		c.setStack(value)
	case "id", "exception_id":
		c.id = text(value)
	case "cause_id", "causeId", "caused_by":
		c.next = text(value)
	case "cause", "inner", "innerException", "inner_exception", "causes":
		if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") || strings.HasPrefix(value, `"`) {
			c.below = append(c.below, readCauses(value, budget)...)
		} else {
			c.next = text(value)
		}
	case "relation":
		c.Relation = text(value)
	}
}

// setStack takes the frames of a cause, from an array or from text.
func (c *cause) setStack(value string) {
	if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") {
		c.Frames = frameList(value)
		return
	}
	var t trace
	if !t.parse(text(value)) {
		return
	}
	first := t.links[0]
	c.Frames = t.frames[first.from:first.to]
	if c.Type == "" {
		c.Type, c.Message = first.typ, first.message
	}
}

// orderByID follows the ids of causes from the first on. Without ids the order stays.
func orderByID(causes []cause) []cause {
	at := map[string]int{}
	tied := false
	for i, c := range causes {
		if c.id != "" {
			at[c.id] = i
		}
		tied = tied || c.next != ""
	}
	if !tied || len(causes) == 0 {
		return causes
	}
	seen := make([]bool, len(causes))
	var ordered []cause
	for i, ok := 0, true; ok && !seen[i]; i, ok = at[causes[i].next], hasID(at, causes[i].next) {
		seen[i] = true
		ordered = append(ordered, causes[i])
	}
	return ordered
}

// hasID says whether there is a cause with this id.
func hasID(at map[string]int, id string) bool {
	_, ok := at[id]
	return ok && id != ""
}
