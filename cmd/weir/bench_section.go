package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// writeSection puts text between a section's marks in a Markdown file and leaves the rest as it
// is, since each table of the file is measured by a command of its own. What is not there yet is made.
func writeSection(file, section, text string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, []byte(withSection(string(old), section, text)), 0o644) //nolint:gosec // a page of the docs
}

func withSection(page, section, text string) string {
	begin, end := "<!-- begin "+section+" -->\n", "<!-- end "+section+" -->\n"
	text = begin + strings.TrimRight(text, "\n") + "\n" + end
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	switch {
	case ok && closed:
		return before + text + after
	case page == "":
		return text
	default:
		return strings.TrimRight(page, "\n") + "\n\n" + text
	}
}
