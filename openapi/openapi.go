// Package openapi describes the whole HTTP API as an OpenAPI 3.1 document: what
// GET /api/openapi.json answers.
//
// The operations stand in operations.go, a line for each; the shapes of bodies in
// components.json, by name. The thirteen event types come from their definitions
// in schemas, so they can't differ from what the door checks. A test in cmd/weir
// walks the real router and finds every route that is not described here, and
// every description that has no route.
package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

//go:embed components.json
var componentsJSON []byte

// object is a JSON object.
type object = map[string]any

// Document makes the document; version is the server's.
func Document(version string) ([]byte, error) {
	var components object
	if err := json.Unmarshal(componentsJSON, &components); err != nil {
		return nil, fmt.Errorf("openapi/components.json: %w", err)
	}
	shapes := components["schemas"].(object)
	for name, shape := range eventShapes() {
		shapes[name] = shape
	}
	paths := object{}
	for _, o := range Operations() {
		at, ok := paths[o.Path].(object)
		if !ok {
			at = object{}
			paths[o.Path] = at
		}
		described, err := o.describe(components)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Method, o.Path, err)
		}
		at[strings.ToLower(o.Method)] = described
	}
	return json.Marshal(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "Weir", "version": version,
			"description": "Signed batches of events in, read models out. Every answer that is not 2xx is a problem document with a stable code.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []any{object{"url": "/"}},
		"tags":       tags(),
		"paths":      paths,
		"components": components,
	})
}

// Handler serves the document, made once.
func Handler(version string) (http.Handler, error) {
	document, err := Document(version)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(document)))
		_, _ = w.Write(document)
	}), nil
}

var pathName = regexp.MustCompile(`\{([^}]+)\}`)

// describe turns an operation into its object.
func (o Operation) describe(components object) (object, error) {
	params := []any{}
	for _, name := range pathName.FindAllStringSubmatch(o.Path, -1) {
		params = append(params, object{
			"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"},
		})
	}
	for _, name := range o.Params {
		if components["parameters"].(object)[name] == nil {
			return nil, fmt.Errorf("the parameter %q is not in components.json: add it to parameters there", name)
		}
		params = append(params, object{"$ref": "#/components/parameters/" + name})
	}
	described := object{
		"operationId": o.id(), "summary": o.Summary, "tags": []any{o.tag()}, "parameters": params,
	}
	if o.Body != "" {
		if err := known(components, o.Body); err != nil {
			return nil, err
		}
		described["requestBody"] = object{"required": !o.BodyOptional, "content": content("application/json", o.Body)}
	}
	responses := object{"default": object{"$ref": "#/components/responses/Problem"}}
	for _, a := range o.Answers {
		if err := known(components, a.Shape); err != nil {
			return nil, err
		}
		responses[strconv.Itoa(a.Status)] = a.describe(o)
	}
	for _, status := range o.Problems {
		responses[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Problem" + strconv.Itoa(status)}
		if components["responses"].(object)["Problem"+strconv.Itoa(status)] == nil {
			return nil, fmt.Errorf("the response Problem%d is not in components.json: add it to responses there", status)
		}
	}
	described["responses"] = responses
	described["security"] = []any{}
	if o.Who != Anybody {
		described["security"] = []any{object{"bearer": []any{}}}
		described["x-scope"] = string(o.Who)
	}
	return described, nil
}

func known(components object, shape string) error {
	shape = strings.TrimSuffix(shape, "[]")
	if shape != "" && components["schemas"].(object)[shape] == nil {
		return fmt.Errorf("the shape %q is not in components.json: add it to schemas there", shape)
	}
	return nil
}

// content is a body; a shape that ends in [] is a page of them.
func content(kind, shape string) object {
	schema := object{"$ref": "#/components/schemas/" + strings.TrimSuffix(shape, "[]")}
	if strings.HasSuffix(shape, "[]") {
		schema = object{
			"type": "object", "required": []any{"data", "next_cursor"},
			"properties": object{
				"data":        object{"type": "array", "items": schema},
				"next_cursor": object{"type": []any{"string", "null"}},
			},
		}
	}
	return object{kind: object{"schema": schema}}
}

func (a Answer) describe(o Operation) object {
	described := object{"description": http.StatusText(a.Status)}
	kind := a.Type
	if kind == "" {
		kind = "application/json"
	}
	switch {
	case a.Shape != "":
		described["content"] = content(kind, a.Shape)
	case a.Type != "":
		described["content"] = object{kind: object{"schema": object{"type": "string"}}}
	}
	if o.Path == "/api/ingest" {
		described["headers"] = object{
			"X-Service-Log-Position": object{"$ref": "#/components/headers/Position"},
			"RateLimit-Policy":       object{"$ref": "#/components/headers/RateLimitPolicy"},
			"RateLimit":              object{"$ref": "#/components/headers/RateLimit"},
			"Idempotent-Replayed":    object{"$ref": "#/components/headers/Replayed"},
		}
	}
	return described
}

// id is made of method and path: getErrorsGroupsFingerprint.
func (o Operation) id() string {
	id := strings.ToLower(o.Method)
	for part := range strings.FieldsFuncSeq(strings.TrimPrefix(o.Path, "/api"), func(r rune) bool { return strings.ContainsRune("/{}._-", r) }) {
		id += strings.ToUpper(part[:1]) + part[1:]
	}
	return id
}
