package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is where a verb prints: results on out, everything else on err.
type terminal struct{ out, err io.Writer }

// json prints one value as one line.
func (t *terminal) json(v any) error {
	return json.NewEncoder(t.out).Encode(v)
}

func (t *terminal) printf(format string, args ...any) { fmt.Fprintf(t.out, format, args...) }

// notef prints what is not a result: progress, advice.
func (t *terminal) notef(format string, args ...any) { fmt.Fprintf(t.err, format, args...) }

// interactive tells whether a person looks at err.
func (t *terminal) interactive() bool {
	f, ok := t.err.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
