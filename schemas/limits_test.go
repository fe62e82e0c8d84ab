package schemas

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// parseAllocs counts the allocations of one Parse of a reused Batch.
func parseAllocs(t *testing.T, body []byte) float64 {
	t.Helper()
	var batch Batch
	return testing.AllocsPerRun(20, func() {
		if err := batch.Parse(body); err != nil {
			t.Fatal(err)
		}
	})
}

func TestParsingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Log("allocation ceilings are not checked under the race detector, which allocates itself")
		return
	}
	duplicated := `{"type":"log","ts":"` + sampleTime + `","data":{"message":"m","a":1,"a":2}}`
	for _, c := range []struct {
		name    string
		body    []byte
		ceiling float64
	}{
		{"a thousand log events", logBody(1000), 0},
		{"a thousand events of all types", mixedBody(1000), 0},
		{"large objects", bodyOf(eventWith("log", `{"message":"m","fields":`+manyMembers(5000, "k%d")+`}`)), 0},
		{"escaped names", bodyOf(strings.Repeat(`{"\u0074ype":"log","ts":"`+sampleTime+`","data":{"m\u0065ssage":"m"}},`, 100) + `1`), 0},
		{"refused with a fixed reason", bodyOf(strings.Repeat(`{"type":"log"},`, 100) + `1`), 0},
		{"refused with a path", bodyOf(duplicated), 6},
	} {
		if got := parseAllocs(t, c.body); got > c.ceiling {
			t.Errorf("%s: %v allocations, ceiling %v", c.name, got, c.ceiling)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Log("allocation ceilings are not checked under the race detector, which allocates itself")
		return
	}
	event := []byte(sampleEvent(Cost))
	sum, length := int64(0), 0
	allocs := testing.AllocsPerRun(100, func() {
		e, err := Open(event)
		if err != nil {
			t.Fatal(err)
		}
		err = Members(e.Data, func(name, value []byte) bool {
			text, _ := StringBytes(value)
			length += len(name) + len(text)
			n, _ := Int(value)
			_, _ = Float(value)
			_, _ = ParseDecimal(value)
			sum += n
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("opening and reading an event takes %v allocations, want none", allocs)
	}
}

// manyMembers is an object of n members named by a format of their number.
func manyMembers(n int, format string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"`+format+`":0`, i)
	}
	b.WriteByte('}')
	return b.String()
}

// nestedObjects is n objects, each a member of the one before up to a depth,
// again and again, and each with so many members that names go to the table.
func nestedObjects(n, depth int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i < n; i += depth {
		if i > 0 {
			b.WriteByte(',')
		}
		for range depth {
			b.WriteString(strings.TrimSuffix(manyMembers(smallObject+1, "n%d"), "}") + `,"in":`)
		}
		b.WriteString("0" + strings.Repeat("}", depth))
	}
	b.WriteByte(']')
	return b.String()
}

// hostileBodies are bodies that a careless scanner takes minutes for, of some
// megabytes for 16 parts, and proportionally less for fewer.
func hostileBodies(parts int) map[string][]byte {
	size, of := parts<<20/16, func(n int) int { return n * parts / 16 }
	inLog := func(value string) []byte {
		return bodyOf(eventWith("log", `{"message":"m","fields":{"x":`+value+`}}`))
	}
	same := strings.Repeat("a", 64)
	return map[string][]byte{
		"100,000 members":                inLog(manyMembers(of(100_000), "k%d")),
		"100,000 members of data":        bodyOf(eventWith("log", strings.TrimSuffix(manyMembers(of(100_000), "k%d"), "}")+`,"message":"m"}`)),
		"100,000 members of the event":   bodyOf(strings.TrimSuffix(sampleEvent(Log), "}") + "," + manyMembers(of(100_000), "k%d")[1:]),
		"names alike at both ends":       inLog(manyMembers(of(50_000), same+"%09d"+same)),
		"long names alike, small object": inLog(manyMembers(smallObject, strings.Repeat("b", size/16)+"%02d"+same)),
		"100,000 escaped names":          inLog(manyMembers(of(100_000), `\u006b%d`)),
		"large objects in large objects": inLog(nestedObjects(of(6000), 50)),
		"deep arrays again and again":    inLog("[" + strings.Repeat(strings.Repeat("[", 50)+strings.Repeat("]", 50)+",", of(20_000)) + "0]"),
		"one string":                     inLog(`"` + strings.Repeat("x", 4*size) + `"`),
		"one string of escapes":          inLog(`"` + strings.Repeat(`\n`, 2*size) + `"`),
		"one string of bad surrogates":   inLog(`"` + strings.Repeat(`\ud800`, size/2) + `"`),
		"one string of four-byte runes":  inLog(`"` + strings.Repeat("😀", size) + `"`),
		"white space":                    inLog(strings.Repeat(" ", 4*size) + "0"),
		"one number":                     inLog(strings.Repeat("9", 4*size)),
		"an amount of many digits":       bodyOf(eventWith("cost", `{"service":"s","amount":0.`+strings.Repeat("9", 4*size)+`,"currency":"EUR"}`)),
		"an amount of many zeros":        bodyOf(eventWith("cost", `{"service":"s","amount":1`+strings.Repeat("0", 4*size)+`e-4194304,"currency":"EUR"}`)),
		"a value of many digits":         bodyOf(eventWith("performance", `{"metric":"m","value":1`+strings.Repeat("0", 308)+"."+strings.Repeat("9", 4*size)+`}`)),
		"an integer of many zeros":       bodyOf(eventWith("webhook", `{"url":"u","statusCode":200.`+strings.Repeat("0", 4*size)+`}`)),
		"a timestamp of many digits":     bodyOf(`{"type":"log","ts":"2026-11-20T09:30:00.` + strings.Repeat("1", 4*size) + `Z","data":{}}`),
		"a long unknown type":            bodyOf(`{"type":"` + strings.Repeat(`\"`, size) + `"}`),
		"a million refused events":       bodyOf(strings.Repeat("1,", size) + "1"),
		"flaws deep down, many events":   bodyOf(strings.Repeat(`{"type":"log","ts":"`+sampleTime+`","data":`+strings.Repeat(`{"a":`, 50)+`{"x":1,"x":1}`+strings.Repeat("}", 50)+`},`, of(8000)) + "1"),
		"a flaw after much":              inLog(`[` + strings.Repeat(`{"a":[]},`, size/4) + `{"a":1,"a":1}]`),
		"many opening brackets":          []byte(strings.Repeat("[", 4*size)),
		"many unread members":            []byte(manyMembers(of(300_000), "k%d")),
		"many unread copies of one name": []byte(manyMembers(of(300_000), "event%.0d")),
	}
}

// TestHostileBodiesTakeLinearTime compares each body with one a sixteenth as long,
// the best of several runs of each: linear work takes 16 times as long, quadratic
// work 256 times. What else the machine does can only slow a run down, so one
// round that shows linear work is proof enough.
func TestHostileBodiesTakeLinearTime(t *testing.T) {
	const rounds, most = 8, 8 * 16
	parts := hostileBodies(1)
	for name, whole := range hostileBodies(16) {
		var part, all time.Duration
		for round := 0; round < rounds && (round == 0 || all > most*part); round++ {
			part, all = best(5, parts[name], part), best(2, whole, all)
		}
		if all > most*part && all > time.Millisecond {
			t.Errorf("%s: %d bytes took %s, %d bytes %s", name, len(parts[name]), part, len(whole), all)
		}
		t.Logf("%-32s %8d bytes %10s, %5.1f times as long as %7d bytes", name, len(whole), all.Round(time.Microsecond), float64(all)/float64(part), len(parts[name]))
	}
}

// best is the shortest time of some runs and the one before, if there was one.
func best(runs int, body []byte, before time.Duration) time.Duration {
	var batch Batch
	for range runs {
		began := time.Now()
		_ = batch.Parse(body)
		if took := time.Since(began); before == 0 || took < before {
			before = took
		}
	}
	return before
}

// TestLargeObjectsFindTheirDuplicate puts one duplicate at each end of objects
// around the size where the way of comparing changes.
func TestLargeObjectsFindTheirDuplicate(t *testing.T) {
	var batch Batch
	for _, n := range []int{1, 2, smallObject - 1, smallObject, smallObject + 1, smallObject + 2, 100, 1000, 100_000} {
		for _, again := range []int{0, n / 2, n - 1} {
			members := strings.TrimSuffix(manyMembers(n, "key%d"), "}") + fmt.Sprintf(`,"key%d":1}`, again)
			want := fmt.Sprintf("data.fields.key%d: duplicate name", again)
			if err := batch.Parse(bodyOf(eventWith("log", `{"message":"m","fields":`+members+`}`))); err != nil || len(batch.Rejected) != 1 {
				t.Fatalf("%d members: %v, %d refused", n, err, len(batch.Rejected))
			}
			if got := batch.Rejected[0].Reason; got != want {
				t.Errorf("%d members: %q, want %q", n, got, want)
			}
		}
		event := strings.TrimSuffix(sampleEvent(Log), "}") + "," + strings.TrimSuffix(manyMembers(n, "key%d"), "}")[1:] + `,"ts":1}`
		if err := batch.Parse(bodyOf(event)); err != nil || len(batch.Rejected) != 1 || batch.Rejected[0].Reason != "ts: duplicate name" {
			t.Errorf("%d members beside a second ts: %v, %+v", n, err, batch.Rejected)
		}
	}
}
