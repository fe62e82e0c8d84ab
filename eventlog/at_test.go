package eventlog

import (
	"testing"
	"time"

	"weir/internal/broker"
)

func TestOffsetAt(t *testing.T) {
	l := openLog(t, testConfig(t, startBroker(t, broker.Config{}).Addrs()))
	start := time.Now().Truncate(time.Millisecond)
	for i := range 5 {
		s := oneSet(byte(i+1), 1)
		s.Time = start.Add(time.Duration(i) * time.Minute)
		if _, err := l.Append(within(t, 20*time.Second), testTopic, 1, s); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{-time.Hour, 0}, {0, 0}, {time.Millisecond, 1}, {2 * time.Minute, 2}, {4 * time.Minute, 4}, {time.Hour, 5}} {
		got, err := l.OffsetAt(within(t, 20*time.Second), testTopic, 1, start.Add(c.after))
		if err != nil || got != c.want {
			t.Errorf("%v after the first: offset %d, %v; want %d", c.after, got, err, c.want)
		}
	}
	if got, err := l.OffsetAt(t.Context(), testTopic, 0, start); err != nil || got != 0 {
		t.Errorf("an empty partition: offset %d, %v; want 0", got, err)
	}
	if _, err := l.OffsetAt(t.Context(), "nowhere", 0, start); err == nil {
		t.Error("an unknown topic is no error")
	}
}
