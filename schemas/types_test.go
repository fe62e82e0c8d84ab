package schemas

import (
	"sort"
	"testing"
)

func TestTypes(t *testing.T) {
	all := Types()
	if len(all) != 13 {
		t.Fatalf("%d types", len(all))
	}
	if !sort.SliceIsSorted(all, func(i, j int) bool { return all[i].String() < all[j].String() }) {
		t.Errorf("types are not in the order of their names: %v", all)
	}
	for _, kind := range all {
		if got, ok := ParseType(kind.String()); !ok || got != kind {
			t.Errorf("%s is read as %s, %v", kind, got, ok)
		}
		if DefinitionOf(kind).Type != kind {
			t.Errorf("%s has the definition of %s", kind, DefinitionOf(kind).Type)
		}
	}
	for _, name := range []string{"", "a", "tr", "errors", "Log", "log ", "feature-flag", "tenants", "traces", "configs", "costs", "unknown", "xyz"} {
		if got, ok := ParseType(name); ok {
			t.Errorf("%q is read as %s", name, got)
		}
	}
	if Error.Module() != "errors" || Webhook.Module() != "webhooks" || FeatureFlag.Module() != "feature_flag" {
		t.Error("modules bear wrong names")
	}
	if none := Type(13); none.Valid() || none.String() != "unknown" {
		t.Errorf("type 13 is %s", none)
	}
}
