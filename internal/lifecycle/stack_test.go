package lifecycle_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"weir/internal/lifecycle"
)

func TestStopReversesAndGoesOnAfterAFailure(t *testing.T) {
	var order []string
	broken := errors.New("broken")
	s := lifecycle.NewStack(slog.New(slog.DiscardHandler))
	for _, name := range []string{"log", "tables", "http"} {
		s.Push(name, func(context.Context) error {
			order = append(order, name)
			if name == "tables" {
				return broken
			}
			return nil
		})
	}
	err := s.Stop(context.Background())
	if want := []string{"http", "tables", "log"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v in it", err, broken)
	}
	if err := s.Stop(context.Background()); err != nil || len(order) != 3 {
		t.Errorf("a second Stop did something: %v %v", err, order)
	}
}
