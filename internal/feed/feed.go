// Package feed turns files into ingest batches: NDJSON events pass as they are, any other
// line becomes a `log` event whose time and level are read from the line where they can be.
package feed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxBatchBytes is the specification's limit of a body: 5 MB.
const MaxBatchBytes = 5 * 1024 * 1024

// maxLine bounds a line: a longer one can never fit a batch.
const maxLine = MaxBatchBytes - 64

// Options say how lines become events.
type Options struct {
	MaxEvents int            // events in a batch; 0: 1,000
	MaxBytes  int            // bytes in a batch; 0: MaxBatchBytes
	Location  *time.Location // of times without a zone; nil: UTC
	Module    string         // `module` of plain lines, usually the file's name
	Now       func() time.Time
}

// Batch is one request body and where its events came from.
type Batch struct {
	Body   []byte
	Lines  []int // line number of each event, from 1
	Source string
}

// Reader cuts one source into batches. Not for concurrent use.
type Reader struct {
	source  string
	opts    Options
	scanner *bufio.Scanner
	line    int
	held    []byte // an event that did not fit the batch before
	skipped int
}

// NewReader reads events from r; source names it in errors and summaries.
func NewReader(source string, r io.Reader, opts Options) *Reader {
	if opts.MaxEvents <= 0 {
		opts.MaxEvents = 1000
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = MaxBatchBytes
	}
	if opts.Location == nil {
		opts.Location = time.UTC
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	return &Reader{source: source, opts: opts, scanner: scanner}
}

// Skipped counts blank lines, which are no events.
func (r *Reader) Skipped() int { return r.skipped }

// Next gives the next batch, io.EOF after the last one.
func (r *Reader) Next() (Batch, error) {
	b := Batch{Source: r.source, Body: []byte(`{"events":[`)}
	for len(b.Lines) < r.opts.MaxEvents {
		event, err := r.event()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Batch{}, err
		}
		if len(b.Lines) > 0 && len(b.Body)+len(event)+3 > r.opts.MaxBytes {
			r.held = event
			break
		}
		if len(b.Lines) > 0 {
			b.Body = append(b.Body, ',')
		}
		b.Body = append(b.Body, event...)
		b.Lines = append(b.Lines, r.line)
	}
	if len(b.Lines) == 0 {
		return Batch{}, io.EOF
	}
	b.Body = append(b.Body, "]}"...)
	return b, nil
}

func (r *Reader) event() ([]byte, error) {
	if held := r.held; held != nil {
		r.held = nil
		return held, nil
	}
	for r.scanner.Scan() {
		r.line++
		line := bytes.TrimRight(r.scanner.Bytes(), "\r")
		if len(bytes.TrimSpace(line)) == 0 {
			r.skipped++
			continue
		}
		if isEvent(line) {
			if !json.Valid(line) {
				return nil, fmt.Errorf("%s line %d looks like an event but is not valid JSON: mend the line or remove it", r.source, r.line)
			}
			return bytes.Clone(line), nil
		}
		return r.logEvent(line), nil
	}
	if err := r.scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s line %d: %w (a line may have at most %d bytes)", r.source, r.line+1, err, maxLine)
	}
	return nil, io.EOF
}

type logEvent struct {
	Type string  `json:"type"`
	TS   string  `json:"ts"`
	Data logData `json:"data"`
}

type logData struct {
	Level   string `json:"level,omitempty"`
	Message string `json:"message"`
	Module  string `json:"module,omitempty"`
}

func (r *Reader) logEvent(line []byte) []byte {
	text := string(line)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	at, ok := lineTime(text, r.opts.Location, r.opts.Now())
	if !ok {
		at = r.opts.Now()
	}
	// Marshal of three strings cannot fail.
	encoded, _ := json.Marshal(logEvent{"log", at.UTC().Format(time.RFC3339Nano),
		logData{Level: lineLevel(text), Message: text, Module: r.opts.Module}})
	return encoded
}
