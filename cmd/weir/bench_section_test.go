package main

import "testing"

func TestWithSection(t *testing.T) {
	page := withSection("", "a", "# A\n")
	page = withSection(page, "b", "# B")
	page = withSection(page, "a", "# A again\n\n")
	want := "<!-- begin a -->\n# A again\n<!-- end a -->\n\n<!-- begin b -->\n# B\n<!-- end b -->\n"
	if page != want {
		t.Errorf("page is\n%q\nnot\n%q", page, want)
	}
}
