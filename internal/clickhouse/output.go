package clickhouse

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// outputKept is how much of a child's standard output and error is remembered, for errors.
const outputKept = 8 << 10

// output keeps the end of what a child printed. The engine's log proper goes to its own files.
type output struct {
	mu   sync.Mutex
	kept []byte
}

var _ io.Writer = (*output)(nil)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, p...)
	if extra := len(o.kept) - outputKept; extra > 0 {
		o.kept = append(o.kept[:0], o.kept[extra:]...)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return lastLines(o.kept, outputKept)
}

// lastLines is the end of a text, without what is cut and without the engine's lines about where
// it logs.
func lastLines(text []byte, limit int) string {
	text = bytes.TrimSpace(text)
	if len(text) > limit {
		text = text[len(text)-limit:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "Logging ") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}
