package ingest

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/schemas"
)

// Whatever a reason quotes from an event, the answer is JSON and says just that.
func TestAnswersAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reasons := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))).Draw(t, "reasons")
		batch := schemas.Batch{Events: make([]schemas.Event, rapid.IntRange(0, 3).Draw(t, "accepted"))}
		for i, r := range reasons {
			batch.Rejected = append(batch.Rejected, schemas.Rejection{Index: i * 2, Reason: r})
		}
		var got struct {
			Accepted *int
			Rejected []struct {
				Index  int
				Reason string
			}
		}
		text := appendAnswer(nil, &batch)
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got.Accepted == nil || *got.Accepted != len(batch.Events) || got.Rejected == nil || len(got.Rejected) != len(reasons) {
			t.Fatalf("%s", text)
		}
		for i, r := range got.Rejected {
			if want := strings.ToValidUTF8(reasons[i], "\ufffd"); r.Index != i*2 || squeezed(r.Reason) != squeezed(want) {
				t.Fatalf("got %+v, want %q", r, want)
			}
		}
	})
}

// squeezed makes one replacement character of a run of them, as ToValidUTF8 does.
func squeezed(s string) string {
	for strings.Contains(s, "\ufffd\ufffd") {
		s = strings.ReplaceAll(s, "\ufffd\ufffd", "\ufffd")
	}
	return s
}
