package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"weir/projections/errorgroups"
	"weir/projections/errorgroups/grouping"
)

type errorsCmd struct {
	Explain errorsExplainCmd `cmd:"" help:"Say why an exception is in its group: needs no server."`
	Preview errorsPreviewCmd `cmd:"" help:"Say which groups another algorithm would split or merge, before anything changes."`
}

type errorsExplainCmd struct {
	File      string `arg:"" help:"JSON of a capture or of an error event; - is standard input."`
	Project   string `help:"Project of the fingerprint, which is part of it." default:"prj_example" placeholder:"prj_…"`
	Algorithm int    `help:"Version of the grouping algorithm; the current one if not given." placeholder:"N"`
	JSON      bool   `name:"json" help:"Print JSON."`
}

// maxPayload bounds a file: no batch can be larger.
const maxPayload = 64 << 20

func (c *errorsExplainCmd) Run(t *terminal) error {
	version, err := algorithm(c.Algorithm)
	if err != nil {
		return err
	}
	raw, err := readPayload(c.File)
	if err != nil {
		return err
	}
	payload, err := grouping.ParsePayload(errorData(raw))
	if err != nil && !errors.Is(err, grouping.ErrNotObject) {
		return err
	}
	if err != nil {
		t.notef("%s is no JSON object: its text is taken as the message.\n", c.File)
	}
	why := version.Explain(c.Project, payload)
	if c.JSON {
		return t.json(why)
	}
	printExplanation(t, why)
	return nil
}

// algorithm finds a version, 0 being the current one.
func algorithm(number int) (grouping.Version, error) {
	if number == 0 {
		number = grouping.Algorithm
	}
	version, err := grouping.Lookup(number)
	if err != nil {
		return version, usageError{err}
	}
	return version, nil
}

func readPayload(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, maxPayload))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPayload))
}

// errorData is the data of an error event, or the whole text when it is no event.
func errorData(raw []byte) []byte {
	var event struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &event) == nil && event.Type == "error" && len(event.Data) > 0 {
		return event.Data
	}
	return raw
}

func printExplanation(t *terminal, why grouping.Explanation) {
	t.printf("fingerprint  %s (algorithm %d)\ndecided by   %s\n%s\n", why.Fingerprint, why.Algorithm, why.Decided, why.Summary)
	if why.Language != "" {
		t.printf("read as      %s\n", why.Language)
	}
	for _, e := range why.Exceptions {
		t.printf("\n%s %s%s\n", mark(e.Used), strings.TrimSpace(e.Relation+" "+e.Type), because(e.Why))
		for _, f := range e.Frames {
			t.printf("  %s %s %s%s%s\n", mark(f.Used), f.Function, f.File, line(f.Line), because(f.Why))
			if f.As != "" {
				t.printf("      as %s\n", f.As)
			}
		}
		if e.MoreFrames > 0 {
			t.printf("    and %d frames more\n", e.MoreFrames)
		}
	}
	if why.Normalized != "" {
		t.printf("\nmessage as   %s\n", why.Normalized)
	}
	for _, c := range why.Message {
		t.printf("  %q became %q (%s)\n", c.From, c.To, c.Rule)
	}
	t.printf("\nhashed\n%s\n", why.Canonical)
}

func mark(used bool) string {
	if used {
		return "+"
	}
	return "-"
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return "  (" + why + ")"
}

func line(n int) string {
	if n == 0 {
		return ""
	}
	return ":" + strconv.Itoa(n)
}

type errorsPreviewCmd struct {
	remote
	Algorithm int    `required:"" help:"Version of the grouping algorithm to compare with." placeholder:"N"`
	Project   string `help:"Only this project." placeholder:"prj_…"`
	Show      int    `help:"How many changed groups to list." default:"20"`
}

func (c *errorsPreviewCmd) Run(ctx context.Context, t *terminal) error {
	if _, err := algorithm(c.Algorithm); err != nil {
		return err
	}
	server, err := c.admin()
	if err != nil {
		return err
	}
	query := url.Values{"algorithm": {strconv.Itoa(c.Algorithm)}, "limit": {strconv.Itoa(c.Show)}}
	if c.Project != "" {
		query.Set("project_id", c.Project)
	}
	stream, err := server.Stream(ctx, "/api/errors/preview", query)
	if err != nil {
		return err
	}
	defer stream.Close()
	return c.follow(t, stream)
}

// follow reads one line of JSON for each step; the last has the result.
func (c *errorsPreviewCmd) follow(t *terminal, stream io.Reader) error {
	lines := json.NewDecoder(stream)
	for {
		var step previewStep
		if err := lines.Decode(&step); err != nil {
			return fmt.Errorf("the server ended the preview before its result (%w); run it again", err)
		}
		switch {
		case step.Error != "":
			return errors.New(step.Error)
		case step.Result == nil:
			t.notef("\r%d of %d events", step.Events, step.Of)
		case c.JSON:
			return t.json(step.Result)
		default:
			t.notef("\n")
			printPreview(t, step.Result)
			return nil
		}
	}
}

func printPreview(t *terminal, r *errorgroups.Preview) {
	t.printf("algorithm %d → %d: %d events in %d groups → %d groups\n", r.From, r.To, r.Events, r.GroupsBefore, r.GroupsAfter)
	t.printf("%d groups split, %d merge, %d events move to another group (fingerprints that only change their name: %d)\n", r.Split, r.Merged, r.Moved, r.Renamed)
	for _, g := range r.Splits {
		t.printf("split  %s %s (%d events) into %s\n", g.Fingerprint, g.Name, g.Events, parts(g.Parts))
	}
	for _, g := range r.Merges {
		t.printf("merge  %s %s (%d events) from %s\n", g.Fingerprint, g.Name, g.Events, parts(g.Parts))
	}
}

func parts(all []errorgroups.PreviewPart) string {
	var b strings.Builder
	for i, p := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%d)", p.Fingerprint, p.Events)
	}
	return b.String()
}
