package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"
)

// DecodeJSON reads a request body strictly into the struct v points to: the
// content type must be application/json, the body at most max bytes of one
// valid JSON object, with no member twice and none v does not know. Every
// fault is an *Error that names the field; values are not repeated in it.
func DecodeJSON(w http.ResponseWriter, r *http.Request, max int64, v any) error {
	if err := checkContentType(r); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, max))
	if err != nil {
		return readError(err, max)
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return Errorf(CodeInvalidJSON, "the body must be one JSON object in UTF-8")
	}
	if err := checkMembers(body, v); err != nil {
		return err
	}
	return decodeStrict(body, v)
}

func checkContentType(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return Errorf(CodeInvalidContentType, "send Content-Type: application/json")
	}
	return nil
}

func readError(err error, max int64) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return Errorf(CodeBodyTooLarge, "the body must be at most %d bytes", max)
	}
	return Errorf(CodeInvalidRequest, "the body could not be read to its end; send it again").Because(err)
}

// checkMembers finds unknown and repeated members of the top object, all of
// them at once; encoding/json would stop at the first unknown one, match names
// whatever their case, and let the last of two equal names win.
func checkMembers(body []byte, v any) error {
	names, ok := memberNames(body)
	if !ok {
		return Errorf(CodeInvalidJSON, "the body must be a JSON object")
	}
	known, seen := fieldNames(v), map[string]bool{}
	var problems []ParamProblem
	for _, name := range names {
		switch {
		case seen[name]:
			problems = append(problems, ParamProblem{name, "duplicate name"})
		case !known[name]:
			problems = append(problems, ParamProblem{clip(name), "unknown field"})
		}
		seen[name] = true
	}
	return FieldErrors(problems...)
}

func clip(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// FieldErrors is the 400 that names each bad field of a body; nil for none.
func FieldErrors(problems ...ParamProblem) error {
	if len(problems) == 0 {
		return nil
	}
	e := ParamErrors(problems...)
	e.Code = CodeInvalidRequest
	return e
}

func memberNames(body []byte) ([]string, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return nil, false
		}
		names = append(names, name.(string))
	}
	return names, true
}

func fieldNames(v any) map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeOf(v).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}

func decodeStrict(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return FieldErrors(ParamProblem{wrongType.Field, "must be " + jsonKind(wrongType.Type)})
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return Errorf(CodeInvalidRequest, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return Errorf(CodeInvalidRequest, "a field has a value it cannot take")
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	}
	return fmt.Sprintf("a number (%s)", t.Kind())
}
