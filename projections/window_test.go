package projections

import (
	"testing"

	"weir/readmodel/tables"
)

func TestTokenWindowCoversTheLongestInsert(t *testing.T) {
	if got := TokenWindow(1); got != tables.DefaultDeduplicationWindow {
		t.Errorf("one partition needs %d tokens, want the default", got)
	}
	// 13 topics of 6 partitions, four blocks a second each, ten minutes.
	if got, want := TokenWindow(78), 78*4*600; got != want {
		t.Errorf("78 partitions need %d tokens, want %d", got, want)
	}
}
