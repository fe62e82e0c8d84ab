package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport says which of our packages each top folder may import, beside itself. cmd joins
// everything; what it does not list, nobody may import.
var mayImport = map[string][]string{
	"schemas":          {},
	"eventlog":         {"schemas", "internal"},
	"control":          {"schemas", "eventlog", "internal"},
	"ingest":           {"schemas", "eventlog", "internal"},
	"projections":      {"schemas", "eventlog", "readmodel/tables", "internal"},
	"readmodel":        {"schemas", "eventlog", "readmodel/tables", "internal"},
	"readmodel/tables": {"schemas"},
	"webhooks":         {"schemas", "eventlog", "internal"},
	"console":          {"internal"},
	"openapi":          {"schemas"},
	"internal":         {},
	"cmd":              {"*"},
	"integration":      {"*"},
}

// pure packages are folds and parsers: they must not be able to reach a network or a clock's wait.
var pure = map[string][]string{
	"weir/schemas":                          {"net", "net/http", "os", "database/sql"},
	"weir/projections/errorgroups/grouping": {"net", "net/http", "os", "weir/schemas", "weir/eventlog"},
}

// onlyIn keeps a library behind one door.
var onlyIn = map[string][]string{
	"github.com/segmentio/kafka-go":               {"weir/eventlog", "weir/integration", "weir/ingest/baseline"}, // the baseline is what the door is measured against
	"github.com/twmb/franz-go/pkg/kfake":          {"weir/internal/broker", "weir/integration"},
	"github.com/ebitengine/purego":                {"weir/internal/clickhouse"},
	"github.com/creack/pty":                       {"weir/internal/clickhouse"},
	"github.com/alecthomas/kong":                  {"weir/cmd/weir"},
	"github.com/testcontainers/testcontainers-go": {"weir/integration"},
}

type goPackage struct {
	ImportPath string
	Doc        string
	Imports    []string
}

func ourPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "weir/...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// room is the entry of mayImport a package belongs to: the longest that fits.
func room(path string) string {
	path = strings.TrimPrefix(path, "weir/")
	best := ""
	for name := range mayImport {
		if (path == name || strings.HasPrefix(path, name+"/")) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

func TestImportsHaveOneDirection(t *testing.T) {
	for _, p := range ourPackages(t) {
		from := room(p.ImportPath)
		if from == "" {
			t.Errorf("%s is in no known room: add it to mayImport, and say in docs/architecture.md why it is there", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, "weir/") {
				continue
			}
			to := room(imported)
			allowed := mayImport[from]
			if to != from && !slices.Contains(allowed, to) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s: %s may import only %v; declare an interface and let cmd join them", p.ImportPath, imported, from, allowed)
			}
		}
	}
}

func TestLibrariesStayBehindTheirDoor(t *testing.T) {
	for _, p := range ourPackages(t) {
		for _, imported := range p.Imports {
			for library, doors := range onlyIn {
				inside := slices.ContainsFunc(doors, func(door string) bool {
					return p.ImportPath == door || strings.HasPrefix(p.ImportPath, door+"/")
				})
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !inside {
					t.Errorf("%s imports %s, which belongs behind %v", p.ImportPath, imported, doors)
				}
			}
			if slices.Contains(pure[p.ImportPath], imported) {
				t.Errorf("%s must be pure but imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range ourPackages(t) {
		if p.Doc == "" && p.ImportPath != "weir/integration" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}
