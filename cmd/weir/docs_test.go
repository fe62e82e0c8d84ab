package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"weir/schemas"
)

// What users read is tested: a page that names a setting, a code, a field or a metric that is
// not there, or leaves one out, fails here.

var update = flag.Bool("update", false, "write the generated parts of docs/api.md anew")

const (
	apiPage        = "../../docs/api.md"
	operationsPage = "../../docs/operations.md"
)

func readPage(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const (
	typesBegin = "<!-- event types: written by `go test ./cmd/weir -run TestDocs -update` -->\n"
	typesEnd   = "<!-- end of event types -->\n"
)

func TestDocsListEveryEventTypeAndField(t *testing.T) {
	page := readPage(t, apiPage)
	before, rest, found := strings.Cut(page, typesBegin)
	have, after, ended := strings.Cut(rest, typesEnd)
	if !found || !ended {
		t.Fatal("docs/api.md has lost the marks around its table of event types")
	}
	want := typesTable()
	if have == want {
		return
	}
	if *update {
		if err := os.WriteFile(apiPage, []byte(before+typesBegin+want+typesEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("docs/api.md has\n%s\nbut the code has\n%s\nwrite it anew with: go test ./cmd/weir -run TestDocs -update", have, want)
}

func typesTable() string {
	var b strings.Builder
	b.WriteString("| type | fields |\n|---|---|\n")
	for _, typ := range schemas.Types() {
		definition := schemas.DefinitionOf(typ)
		fields := make([]string, len(definition.Fields))
		for i, f := range definition.Fields {
			fields[i] = fieldText(f)
		}
		text := strings.Join(fields, ", ")
		if len(definition.AnyOf) > 0 {
			text += "; at least one of **" + strings.Join(definition.AnyOf, "** and **") + "**"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", typ, text)
	}
	return b.String()
}

func fieldText(f schemas.Field) string {
	name := "`" + f.Name + "`"
	if f.Required {
		name = "**" + name + "**"
	}
	kind := map[schemas.Kind]string{
		schemas.Text: "text", schemas.Integer: "integer", schemas.Number: "number", schemas.Amount: "amount",
		schemas.Currency: "currency", schemas.Boolean: "true or false", schemas.Object: "object",
	}[f.Kind]
	if f.Kind == schemas.Integer {
		kind += fmt.Sprintf(" from %d", f.Min)
		if f.Max < 1<<40 {
			kind += fmt.Sprintf(" to %d", f.Max)
		}
	}
	return name + " " + kind
}

func TestDocsListEveryCode(t *testing.T) {
	page := readPage(t, apiPage)
	source := readPage(t, "../../internal/httpapi/taxonomy.go")
	codes := regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllStringSubmatch(source, -1)
	if len(codes) < 10 {
		t.Fatalf("only %d codes found in taxonomy.go", len(codes))
	}
	known := map[string]bool{}
	for _, code := range codes {
		known[code[1]] = true
		if !strings.Contains(page, "\n| `"+code[1]+"` |") {
			t.Errorf("docs/api.md does not list the code %s", code[1])
		}
	}
	_, table, _ := strings.Cut(page, "\n## Errors of the API\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		if !known[row[1]] {
			t.Errorf("docs/api.md lists the code %s, which there is not", row[1])
		}
	}
}

// serveFlags are the flags of `weir serve`, as kong sees them.
func serveFlags(t *testing.T) []*kong.Flag {
	t.Helper()
	var cli commands
	parser, err := kong.New(&cli, kong.Vars(defaultFolders()))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range parser.Model.Children {
		if node.Name == "serve" {
			return node.Flags
		}
	}
	t.Fatal("there is no serve")
	return nil
}

func TestDocsListEverySetting(t *testing.T) {
	page := readPage(t, operationsPage)
	_, table, _ := strings.Cut(page, "\n## Settings\n")
	table, _, _ = strings.Cut(table, "\n## ")
	known := []string{}
	for _, f := range serveFlags(t) {
		variable, otherwise := "", "-"
		if len(f.Envs) > 0 {
			variable = "`" + f.Envs[0] + "`"
		}
		if f.HasDefault && f.Name != "data" && f.Name != "cache" { // these depend on the machine
			otherwise = "`" + f.Default + "`"
		}
		known = append(known, "--"+f.Name)
		row := regexp.MustCompile("(?m)^\\| `--" + f.Name + "` \\| (.*?) \\| (.*?) \\|").FindStringSubmatch(table)
		switch {
		case row == nil:
			t.Errorf("docs/operations.md has no row for --%s (%s): %s", f.Name, variable, f.Help)
		case row[1] != variable:
			t.Errorf("docs/operations.md: --%s has the variable %q, the page says %q", f.Name, variable, row[1])
		case otherwise != "-" && row[2] != otherwise:
			t.Errorf("docs/operations.md: --%s has the default %q, the page says %q", f.Name, otherwise, row[2])
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(--[a-z-]+)` \\|").FindAllStringSubmatch(table, -1) {
		if !slices.Contains(known, row[1]) {
			t.Errorf("docs/operations.md has the setting %s, which serve does not have", row[1])
		}
	}
}

// route is how the source names an endpoint: r.Get("/api/events", …), r.Method("POST", "/api/ingest", …).
var route = regexp.MustCompile(`\.?(Get|Post|Put|Patch|Delete|Method\((?:"[A-Z]+"|http\.Method[A-Za-z]+), *)\(?"(/api/[^"]*)"`)

func TestDocsListEveryEndpoint(t *testing.T) {
	page := readPage(t, apiPage)
	found := 0
	eachSource(t, func(path string, source []byte) {
		if strings.HasPrefix(path, "../../internal/") || strings.HasPrefix(path, "../../integration/") {
			return
		}
		for _, m := range route.FindAllStringSubmatch(string(source), -1) {
			endpoint := methodOf(m[1]) + " " + m[2]
			if found++; m[2] != "/api/" && !strings.Contains(page, "`"+endpoint+"`") && !strings.Contains(page, "`"+endpoint+" ") {
				t.Errorf("docs/api.md does not name `%s` (%s)", endpoint, path)
			}
		}
	})
	if found < 20 {
		t.Errorf("only %d endpoints found in the source", found)
	}
}

func methodOf(call string) string {
	call = strings.NewReplacer("Method(", "", "http.", "", `"`, "", ",", "", " ", "").Replace(call)
	return strings.ToUpper(strings.TrimPrefix(call, "Method"))
}

// eachSource calls fn with each Go file of ours that is not a test.
func eachSource(t *testing.T, fn func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != "../.." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "data", "bin", "sdk"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fn(path, source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
