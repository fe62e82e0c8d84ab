package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Page is one page of a list: {"data":[…],"next_cursor":null}.
type Page[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"` // nil: this is the last page
}

// NewPage makes a page whose data is never null; an empty next means there is no next page.
func NewPage[T any](data []T, next string) Page[T] {
	if data == nil {
		data = []T{}
	}
	p := Page[T]{Data: data}
	if next != "" {
		p.NextCursor = &next
	}
	return p
}

// The bounds of the parameter limit: how many items a page has.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// maxCursor bounds what is decoded; our own cursors are far shorter.
const maxCursor = 2048

// ParseLimit reads the parameter limit, 1 to 200, 50 when absent.
func ParseLimit(q url.Values) (int, error) {
	p := NewParams(q)
	n := p.Limit()
	return n, p.Err()
}

// EncodeCursor makes the opaque cursor that continues a list after the
// position v (any JSON value). list names the list and its order, so that a
// cursor of another list or order is refused instead of giving a wrong page.
// A cursor is not a secret and carries no right: every query filters by project anyway.
func EncodeCursor(list string, v any) (string, error) {
	position, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(cursor{list, position})
	return base64.RawURLEncoding.EncodeToString(b), err
}

type cursor struct {
	List string          `json:"l"`
	At   json.RawMessage `json:"a"`
}

// DecodeCursor reads a cursor of that list into v. Anything else is the 400 that names the parameter.
func DecodeCursor(list, s string, v any) error {
	bad := ParamErrors(ParamProblem{"cursor", "not a cursor of this list: take next_cursor as it was given"})
	if len(s) > maxCursor {
		return bad
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return bad
	}
	var c cursor
	if json.Unmarshal(b, &c) != nil || c.List != list || json.Unmarshal(c.At, v) != nil {
		return bad
	}
	return nil
}

// WriteJSON answers with status and v as JSON. When v cannot be encoded, it answers 500 instead.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		WriteProblem(w, Problem{Code: CodeInternal})
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode gives v as one line of JSON. No answer of ours is ever HTML, so <, > and & stay as they
// are: a detail that says "Bearer <API_KEY>" should read so in a terminal, too.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
