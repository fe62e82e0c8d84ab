// Package lifecycle stops the parts of a process in the reverse of the order in which they were started.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Stack remembers what was started. Not for concurrent use.
type Stack struct {
	logger *slog.Logger
	parts  []part
}

type part struct {
	name string
	stop func(context.Context) error
}

// NewStack logs each stop at debug level, and the slow or failed ones above it.
func NewStack(logger *slog.Logger) *Stack { return &Stack{logger: logger} }

// Push adds a part that has just started; stop must return soon after its context ends.
func (s *Stack) Push(name string, stop func(context.Context) error) {
	s.parts = append(s.parts, part{name, stop})
}

// Stop stops every part, the last started first, also when one fails or ctx ends meanwhile:
// a child process must be ended whatever happened to the parts above it.
func (s *Stack) Stop(ctx context.Context) error {
	var failed []error
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		began := time.Now()
		err := p.stop(ctx)
		s.logger.Debug("stopped", "part", p.name, "took", time.Since(began), "error", err)
		if err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", p.name, err))
		}
	}
	s.parts = nil
	return errors.Join(failed...)
}
