package rejections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/eventlog"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// paper is a log that keeps what is appended, or fails.
type paper struct {
	mu   sync.Mutex
	told []told
	err  error
	sum  map[string]int64
}

func (p *paper) PartitionFor(string, [16]byte) int { return 0 }

func (p *paper) Append(_ context.Context, topic string, _ int, s eventlog.Set) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	for _, v := range s.Values {
		var d told
		if err := json.Unmarshal(v, &d); err != nil || topic != eventlog.RejectionsTopic {
			return 0, errors.Join(err, errors.New(topic))
		}
		d.project = string(s.Key)
		p.told = append(p.told, d)
		p.sum[d.project+" "+d.Type+" "+d.Reason] += d.Count
	}
	return 0, nil
}

func newTeller() (*Teller, *paper, *time.Time) {
	now := noon
	p := &paper{sum: map[string]int64{}}
	return New(Config{Log: p, Now: func() time.Time { return now }}), p, &now
}

func (t *Teller) step(now *time.Time, d time.Duration) {
	*now = now.Add(d)
	t.tell(context.Background(), t.take(*now))
}

// Everything noted is told once, soon at first and then in larger steps.
func TestTold(t *testing.T) {
	teller, p, now := newTeller()
	for range 600 { // a minute
		teller.Note("prj_a", "log", "data.message: required", 2, []byte(`{"type":"log"}`))
		teller.Note("prj_b", "", "type: required", 1, []byte(`{}`))
		teller.step(now, 100*time.Millisecond)
	}
	if n := len(p.told); n < 8 || n > 16 {
		t.Errorf("a minute of two reasons took %d records", n)
	}
	teller.tell(context.Background(), teller.take(time.Time{}))
	if got := fmt.Sprint(p.sum); got != "map[prj_a log data.message: required:1200 prj_b  type: required:600]" {
		t.Error(got)
	}
	if first := p.told[0]; first.Sample == "" || first.Last.Sub(noon) > time.Second {
		t.Errorf("%+v", first)
	}
}

// A client that makes reasons up fills neither memory nor log.
func TestReasonsAreBounded(t *testing.T) {
	teller, p, now := newTeller()
	for i := range 5000 {
		teller.Note("prj_a", "", fmt.Sprintf("type: unknown value %q", fmt.Sprint(i)), 1, nil)
	}
	teller.Note("prj_b", "log", "ts: required", 1, nil)
	teller.step(now, 2*time.Second)
	if len(p.sum) != mostReasons+2 || p.sum["prj_a  "+OtherReasons] != 5000-mostReasons {
		t.Errorf("%d reasons are told apart, %d counted as others", len(p.sum), p.sum["prj_a  "+OtherReasons])
	}
	teller.step(now, time.Hour)
	teller.Note("prj_a", "", "type: required", 1, nil)
	if n := len(teller.entries); n != 1 {
		t.Errorf("%d entries in a new hour", n)
	}
}

// What the log surely did not take is told again, what it may have taken is not.
func TestCountsAreNeverTooHigh(t *testing.T) {
	teller, p, now := newTeller()
	teller.Note("prj_a", "log", "ts: required", 3, nil)
	p.err = eventlog.ErrOverloaded
	teller.step(now, 2*time.Second)
	p.err = nil
	teller.step(now, time.Minute)
	teller.Note("prj_a", "log", "ts: required", 4, nil)
	p.err = eventlog.ErrUnavailable
	teller.step(now, time.Minute)
	p.err = nil
	teller.Note("prj_a", "log", "ts: required", 5, nil)
	teller.step(now, time.Minute)
	if got := p.sum["prj_a log ts: required"]; got != 8 {
		t.Errorf("%d are counted, want 3 and 5", got)
	}
}

func TestRunTellsTheRest(t *testing.T) {
	p := &paper{sum: map[string]int64{}}
	teller := New(Config{Log: p})
	teller.Note("prj_a", "log", "ts: required", 3, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := teller.Run(ctx); err != nil || p.sum["prj_a log ts: required"] != 3 {
		t.Error(err, p.sum)
	}
}

// A sample stays well-formed text, shows short events whole, and is bounded.
func TestSamples(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"log","data":{"a":[1,2.5e3,true,null],"b":"ü"}}`: "",
		`{"a":"` + strings.Repeat("x", 300) + `","b":1}`:          `{"a":"` + strings.Repeat("x", 200) + `…","b":1}`,
		`{"a":"` + strings.Repeat("é", 150) + `"}`:                `{"a":"` + strings.Repeat("é", 100) + `…"}`,
		`{"a":"` + strings.Repeat("x", 198) + `\u00e9yyy"}`:       `{"a":"` + strings.Repeat("x", 198) + `…"}`,
		`{"a":` + strings.Repeat("1", 300) + `}`:                  `{"a":` + strings.Repeat("1", 201) + `…}`,
	} {
		if got := sampleOf([]byte(raw)); got != either(want, raw) {
			t.Errorf("%s\n got %s\nwant %s", raw, got, either(want, raw))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.StringN(0, 500, 3000))).Draw(t, "values")
		raw, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		got := sampleOf(raw)
		if len(got) > mostSample || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		if len(got) < mostSample-300 && !json.Valid([]byte(got)) {
			t.Fatalf("no JSON: %s", got)
		}
	})
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
