package schemas

import (
	"errors"
	"strings"
	"testing"
)

// TestJSONCorpus puts each text of testdata/json.txt in three places: alone as
// the body, in a member of the body that nobody reads, and in an event.
func TestJSONCorpus(t *testing.T) {
	var batch Batch
	for _, c := range corpus(t) {
		inEvent := []byte(`{"events":[` + eventWith("log", `{"message":"m","fields":{"x":`+c.json+`}}`) + `]}`)
		unread := []byte(`{"x":` + c.json + `,"events":[]}`)
		alone, aside := code(batch.Parse([]byte(c.json))), code(batch.Parse(unread))
		within := code(batch.Parse(inEvent))
		if within == "" {
			within = outcome(&batch)
		}
		switch c.name[:2] {
		case "y_":
			if alone != CodeEventsMissing || aside != "" || within != "accepted log" {
				t.Errorf("%s %q: alone %q, aside %q, in an event %q", c.name, c.json, alone, aside, within)
			}
		case "n_":
			if alone != CodeInvalidJSON || aside != CodeInvalidJSON || within != CodeInvalidJSON {
				t.Errorf("%s %q: alone %q, aside %q, in an event %q", c.name, c.json, alone, aside, within)
			}
		case "i_":
			refused := strings.HasPrefix(within, "data.fields.x") &&
				(strings.HasSuffix(within, flawDuplicate) || strings.HasSuffix(within, flawSurrogate))
			if alone != CodeEventsMissing || aside != "" || !refused {
				t.Errorf("%s %q: alone %q, aside %q, in an event %q", c.name, c.json, alone, aside, within)
			}
		default:
			t.Errorf("%s: the name does not state a verdict", c.name)
		}
	}
}

// code returns the code of a BatchError, "" for nil.
func code(err error) string {
	if err == nil {
		return ""
	}
	var refused *BatchError
	if !errors.As(err, &refused) {
		return "not a BatchError: " + err.Error()
	}
	return refused.Code
}

func TestWholeBodies(t *testing.T) {
	for _, c := range []struct{ name, body, code, detail string }{
		{"empty", "", CodeInvalidJSON, faultEmpty},
		{"only space", " \n", CodeInvalidJSON, faultEmpty},
		{"byte order mark", "\xef\xbb\xbf{\"events\":[]}", CodeInvalidJSON, faultBOM},
		{"UTF-16", "{\x00\"\x00", CodeInvalidJSON, faultName},
		{"trailing object", `{"events":[]}{}`, CodeInvalidJSON, faultTrailing},
		{"trailing nul", "{\"events\":[]}\x00", CodeInvalidJSON, faultTrailing},
		{"two lines of NDJSON", "{\"type\":\"log\"}\n{\"type\":\"log\"}", CodeInvalidJSON, faultTrailing},
		{"cut in a string", `{"events":[{"type":"lo`, CodeInvalidJSON, faultEnd},
		{"cut in the array", `{"events":[`, CodeInvalidJSON, faultEnd},
		{"cut after an event", `{"events":[{}`, CodeInvalidJSON, faultEnd},
		{"cut in a number", `{"events":[-`, CodeInvalidJSON, faultEnd},
		{"cut in a literal", `{"events":[nul`, CodeInvalidJSON, faultEnd},
		{"cut in an escape", `{"events":["\u00`, CodeInvalidJSON, faultEnd},
		{"fault after good events", string(logBody(3)[:len(logBody(3))-2]) + `,]}`, CodeInvalidJSON, faultValue},
		{"fault before events matters more than its absence", `{"x":01}`, CodeInvalidJSON, faultNumber},
		{"events twice", `{"events":[],"events":[]}`, CodeInvalidJSON, faultTwoEvents},
		{"events twice, once escaped", `{"events":[],"\u0065vents":[]}`, CodeInvalidJSON, faultTwoEvents},
		{"events twice, one null", `{"events":null,"events":[]}`, CodeInvalidJSON, faultTwoEvents},
		{"an array", `[]`, CodeEventsMissing, "must be an object"},
		{"a string", `"events"`, CodeEventsMissing, "must be an object"},
		{"no events", `{}`, CodeEventsMissing, "missing"},
		{"another name", `{"Events":[]}`, CodeEventsMissing, "missing"},
		{"events null", `{"events":null}`, CodeEventsMissing, "must be an array"},
		{"events an object", `{"events":{}}`, CodeEventsMissing, "must be an array"},
	} {
		var batch Batch
		err := batch.Parse([]byte(c.body))
		var refused *BatchError
		if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(refused.Detail, c.detail) {
			t.Errorf("%s: got %v, want %s with %q", c.name, err, c.code, c.detail)
		}
		if batch.Count != 0 || len(batch.Events) != 0 || len(batch.Rejected) != 0 {
			t.Errorf("%s: events were left behind", c.name)
		}
	}
	for _, body := range []string{
		`{"events":[]}`, " {\t\"events\" :\r\n[ ] } ", `{"\u0065vents":[]}`, `{"a":1,"a":2,"events":[],"b":{"c":1,"c":"\ud800"}}`,
	} {
		var batch Batch
		if err := batch.Parse([]byte(body)); err != nil || batch.Count != 0 {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(depth int, open, shut string) string {
		return strings.Repeat(open, depth) + "0" + strings.Repeat(shut, depth)
	}
	for _, c := range []struct{ before, open, shut, after string }{
		{`{"events":[],"x":`, `[`, `]`, `}`},
		{`{"events":[],"x":`, `{"a":`, `}`, `}`},
		{`{"events":[`, `[`, `]`, `]}`},
		{`{"events":[{"type":"log","ts":"` + sampleTime + `","data":{"message":"m","fields":{"x":`, `[`, `]`, `}}}]}`},
		{`{"events":[{"type":"log","ts":"` + sampleTime + `","data":{"message":"m","fields":{"x":`, `{"a":`, `}`, `}}}]}`},
	} {
		around := strings.Count(c.before, "{") + strings.Count(c.before, "[") - strings.Count(c.before, "]")
		var batch Batch
		if err := batch.Parse([]byte(c.before + nested(MaxDepth-around, c.open, c.shut) + c.after)); err != nil {
			t.Errorf("%s: %d levels refused: %v", c.before, MaxDepth, err)
		}
		err := batch.Parse([]byte(c.before + nested(MaxDepth-around+1, c.open, c.shut) + c.after))
		if err == nil || !strings.Contains(err.Error(), faultDepth) {
			t.Errorf("%s: %d levels: %v", c.before, MaxDepth+1, err)
		}
		if err := batch.Parse([]byte(c.before + strings.Repeat(c.open, 1<<20))); err == nil || !strings.Contains(err.Error(), faultDepth) {
			t.Errorf("%s: a million levels: %v", c.before, err)
		}
	}
}
