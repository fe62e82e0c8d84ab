package httpapi

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type position struct {
			At int64
			ID string
		}
		in := position{rapid.Int64().Draw(t, "at"), rapid.String().Draw(t, "id")}
		s, err := EncodeCursor("groups", in)
		if err != nil {
			t.Fatal(err)
		}
		if url.QueryEscape(s) != s {
			t.Fatalf("%q needs escaping", s)
		}
		var out position
		if err := DecodeCursor("groups", s, &out); err != nil || out != in {
			t.Fatalf("got %+v, %v, want %+v", out, err, in)
		}
		if DecodeCursor("events", s, &out) == nil {
			t.Fatal("a cursor of another list was taken")
		}
	})
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add("")
	f.Add("eyJsIjoiZ3JvdXBzIiwiYSI6MX0")
	f.Add(strings.Repeat("A", 5000))
	f.Fuzz(func(t *testing.T, s string) {
		var at int64
		if err := DecodeCursor("groups", s, &at); err != nil && ProblemOf(err).Code != CodeInvalidParameter {
			t.Errorf("%v", err)
		}
	})
}

func TestParseLimit(t *testing.T) {
	for query, want := range map[string]int{
		"": 50, "limit=": 50, "limit=1": 1, "limit=200": 200,
		"limit=0": -1, "limit=201": -1, "limit=-1": -1, "limit=x": -1, "limit=1&limit=1": -1, "limit=9999999999999999999": -1,
	} {
		q, _ := url.ParseQuery(query)
		got, err := ParseLimit(q)
		if (err != nil) != (want == -1) || (err == nil && got != want) {
			t.Errorf("%q: got %d, %v", query, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "limit") {
			t.Errorf("%q: %v does not name the parameter", query, err)
		}
	}
}

func TestParamsNameEveryFault(t *testing.T) {
	q, _ := url.ParseQuery("limit=900&from=yesterday&sort=colour&q=" + strings.Repeat("x", 11) + "&cursor=zz&types=log,sock&until=1969-12-31T23:59:59Z")
	p := NewParams(q)
	p.Limit()
	p.Time("from")
	p.Time("until")
	p.Enum("sort", "a", "a", "b")
	p.String("q", 10)
	p.Required("name", 10)
	p.List("types", "log", "trace")
	p.Cursor("groups", new(int))
	problem := ProblemOf(p.Err())
	for i, name := range []string{"limit", "from", "until", "sort", "q", "name", "types", "cursor"} {
		if len(problem.Params) <= i || problem.Params[i].Name != name {
			t.Fatalf("%s is not number %d in %+v", name, i, problem.Params)
		}
	}
}

func TestPageIsNeverNull(t *testing.T) {
	w := httptest.NewRecorder()
	WriteJSON(w, 200, NewPage[int](nil, ""))
	if got := w.Body.String(); got != "{\"data\":[],\"next_cursor\":null}\n" {
		t.Error(got)
	}
	w = httptest.NewRecorder()
	WriteJSON(w, 200, func() {})
	if w.Code != 500 {
		t.Error("what cannot be encoded must be a 500")
	}
}

func TestAnswersAreNotEscapedForHTML(t *testing.T) {
	w := httptest.NewRecorder()
	WriteJSON(w, 200, map[string]string{"message": "a < b && c > d"})
	if got := w.Body.String(); got != "{\"message\":\"a < b && c > d\"}\n" {
		t.Error(got)
	}
	w = httptest.NewRecorder()
	WriteProblem(w, ProblemOf(Unauthorized()))
	if got := w.Body.String(); !strings.Contains(got, "Bearer <API_KEY>") {
		t.Error(got)
	}
}
