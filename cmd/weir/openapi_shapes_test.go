package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"weir/control"
	"weir/openapi"
)

// TestOpenAPIShapesHaveEveryField compares what is sent with what is described, field by field.
func TestOpenAPIShapesHaveEveryField(t *testing.T) {
	for shape, sent := range map[string]any{"Endpoint": control.Endpoint{}, "EndpointWithSecret": control.Endpoint{}} {
		described := shapeFields(t, shape)
		fields := reflect.TypeOf(sent)
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			omitted := strings.Contains(fields.Field(i).Tag.Get("json"), "omitempty")
			if !described[name] && !(shape == "EndpointWithSecret" && omitted) {
				t.Errorf("shape %s in openapi/components.json lacks %q, which %v has", shape, name, fields)
			}
		}
	}
}

// shapeFields are the names of a shape's properties in the served document.
func shapeFields(t *testing.T, shape string) map[string]bool {
	t.Helper()
	text, err := openapi.Document("test")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for name := range document.Components.Schemas[shape].Properties {
		names[name] = true
	}
	return names
}
