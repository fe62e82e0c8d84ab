package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDecodeJSON(t *testing.T) {
	type body struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
		Inner struct {
			A string `json:"a"`
		} `json:"inner"`
	}
	for _, c := range []struct {
		name, contentType, in string
		code                  Code
		says                  string
	}{
		{"good", "application/json", `{"name":"x","count":2,"inner":{"a":"b"}}`, "", ""},
		{"charset", "application/json; charset=utf-8", ` {} `, "", ""},
		{"no type", "", `{}`, CodeInvalidContentType, ""},
		{"form", "application/x-www-form-urlencoded", `{}`, CodeInvalidContentType, ""},
		{"empty", "application/json", ``, CodeInvalidJSON, ""},
		{"not JSON", "application/json", `{name:1}`, CodeInvalidJSON, ""},
		{"an array", "application/json", `[]`, CodeInvalidJSON, "object"},
		{"null", "application/json", `null`, CodeInvalidJSON, "object"},
		{"trailing data", "application/json", `{}{}`, CodeInvalidJSON, ""},
		{"byte order mark", "application/json", "\ufeff{}", CodeInvalidJSON, ""},
		{"not UTF-8", "application/json", "{\"name\":\"\xff\"}", CodeInvalidJSON, ""},
		{"unknown, all named", "application/json", `{"nmae":1,"kount":2}`, CodeInvalidRequest, "nmae: unknown field; kount: unknown field"},
		{"other case", "application/json", `{"NAME":"x"}`, CodeInvalidRequest, "NAME: unknown field"},
		{"unknown inside", "application/json", `{"inner":{"b":1}}`, CodeInvalidRequest, `"b"`},
		{"twice", "application/json", `{"name":"x","name":"y"}`, CodeInvalidRequest, "name: duplicate name"},
		{"wrong type", "application/json", `{"name":7}`, CodeInvalidRequest, "name: must be a string"},
		{"wrong type inside", "application/json", `{"inner":{"a":[]}}`, CodeInvalidRequest, "inner.a: must be a string"},
		{"fraction", "application/json", `{"count":1.5}`, CodeInvalidRequest, "count: must be a number"},
		{"too large", "application/json", `{"name":"` + strings.Repeat("x", 200) + `"}`, CodeBodyTooLarge, "100 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", strings.NewReader(c.in))
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			var b body
			err := DecodeJSON(httptest.NewRecorder(), r, 100, &b)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || ProblemOf(err).Code != c.code || !strings.Contains(ProblemOf(err).Detail, c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add(`{"name":"x"}`)
	f.Add(`{"":{}}`)
	f.Fuzz(func(t *testing.T, in string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(in))
		r.Header.Set("Content-Type", "application/json")
		var b struct {
			Name string `json:"name"`
		}
		if err := DecodeJSON(httptest.NewRecorder(), r, 1000, &b); err != nil && ProblemOf(err).Code == CodeInternal {
			t.Errorf("%v", err)
		}
	})
}
