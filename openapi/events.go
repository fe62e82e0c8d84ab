package openapi

import (
	"strings"

	"weir/schemas"
)

// eventShapes are the shapes of the event types and of any event.
func eventShapes() object {
	shapes := object{}
	var any []any
	mapping := object{}
	for _, t := range schemas.Types() {
		name := shapeName(t)
		shapes[name] = eventShape(schemas.DefinitionOf(t))
		any = append(any, object{"$ref": "#/components/schemas/" + name})
		mapping[t.String()] = "#/components/schemas/" + name
	}
	shapes["Event"] = object{"oneOf": any, "discriminator": object{"propertyName": "type", "mapping": mapping}}
	return shapes
}

// shapeName is "FeatureFlagEvent" for feature_flag.
func shapeName(t schemas.Type) (name string) {
	for word := range strings.SplitSeq(t.String(), "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name + "Event"
}

func eventShape(d schemas.Definition) object {
	fields, required := object{}, []any{}
	for _, f := range d.Fields {
		fields[f.Name] = fieldShape(f)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	data := object{"type": "object", "properties": fields, "description": "Members that are not listed are kept as sent; null counts as left out."}
	if len(required) > 0 {
		data["required"] = required
	}
	if len(d.AnyOf) > 0 {
		var one []any
		for _, name := range d.AnyOf {
			one = append(one, object{"required": []any{name}})
		}
		data["anyOf"] = one
	}
	return object{
		"type": "object", "required": []any{"type", "ts", "data"},
		"properties": object{
			"type": object{"const": d.Type.String()},
			"ts":   object{"type": "string", "format": "date-time", "description": "RFC 3339 in UTC, up to nanoseconds, years 1970 to 2200."},
			"data": data,
		},
	}
}

func fieldShape(f schemas.Field) object {
	kind := func(t string, more object) object {
		shape := object{"type": []any{t, "null"}}
		if f.Required {
			shape["type"] = t
		}
		for k, v := range more {
			shape[k] = v
		}
		return shape
	}
	switch f.Kind {
	case schemas.Integer:
		return kind("integer", object{"minimum": f.Min, "maximum": f.Max})
	case schemas.Number:
		return kind("number", nil)
	case schemas.Amount:
		return kind("number", object{"description": "Kept exactly: at most 20 digits before and 38 after the point."})
	case schemas.Currency:
		return kind("string", object{"pattern": "^[A-Za-z]{3}$"})
	case schemas.Boolean:
		return kind("boolean", nil)
	case schemas.Object:
		return kind("object", nil)
	default:
		return kind("string", nil)
	}
}
