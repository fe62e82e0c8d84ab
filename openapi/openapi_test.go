package openapi

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/schemas"
)

// The document is made, each reference leads somewhere, and each operation has an id of its own.
func TestDocument(t *testing.T) {
	raw, err := Document("test")
	if err != nil {
		t.Fatal(err)
	}
	var document object
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	follow(t, document, document)
	ids := map[string]bool{}
	for path, item := range document["paths"].(object) {
		for method, o := range item.(object) {
			id := o.(object)["operationId"].(string)
			if ids[id] {
				t.Errorf("%s %s has the id %s of another operation", method, path, id)
			}
			ids[id] = true
		}
	}
	shapes := document["components"].(object)["schemas"].(object)
	for _, typ := range schemas.Types() {
		shape := shapes[shapeName(typ)].(object)["properties"].(object)["data"].(object)
		for _, f := range schemas.DefinitionOf(typ).Fields {
			if shape["properties"].(object)[f.Name] == nil {
				t.Errorf("%s of %s is missing", f.Name, typ)
			}
		}
	}
}

func follow(t *testing.T, document object, v any) {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			var at any = document
			for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				at = at.(object)[part]
				if at == nil {
					t.Fatalf("%s leads nowhere", ref)
				}
			}
		}
		for _, inner := range v {
			follow(t, document, inner)
		}
	case []any:
		for _, inner := range v {
			follow(t, document, inner)
		}
	}
}

func TestHandler(t *testing.T) {
	h, err := Handler("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/api/openapi.json", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"version":"1.2.3"`) {
		t.Error(w.Code, w.Header())
	}
}
