package schemas

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// compare holds the scanner against the reference on one body.
func compare(t *testing.T, batch *Batch, body []byte) {
	t.Helper()
	want, wantErr := referenceParse(body)
	err := batch.Parse(body)
	var refused *BatchError
	switch {
	case wantErr == nil && err != nil:
		t.Fatalf("refused, should be taken: %v\n%q", err, body)
	case wantErr != nil && err == nil:
		t.Fatalf("taken, should be refused as %v\n%q", wantErr, body)
	case wantErr != nil:
		if !errors.As(err, &refused) || refused.Code != wantErr.Error() {
			t.Fatalf("refused with %v, want code %v\n%q", err, wantErr, body)
		}
		if refused.Offset < 0 || refused.Offset > len(body) {
			t.Fatalf("offset %d outside a body of %d bytes", refused.Offset, len(body))
		}
		if len(batch.Events)+len(batch.Rejected)+batch.Count > 0 {
			t.Fatalf("a refused body left events behind\n%q", body)
		}
		return
	}
	if batch.Count != len(want) || len(batch.Events)+len(batch.Rejected) != len(want) {
		t.Fatalf("counted %d = %d + %d events, want %d\n%q", batch.Count, len(batch.Events), len(batch.Rejected), len(want), body)
	}
	for _, e := range batch.Events {
		if w := want[e.Index]; w.reason != "" || w.raw != string(e.Raw) || w.kind != e.Type.String() {
			t.Fatalf("event %d taken as %s %q, reference: %+v", e.Index, e.Type, e.Raw, w)
		}
		if _, err := Open(e.Raw); err != nil {
			t.Fatalf("event %d was taken at the door, but cannot be opened: %v\n%q", e.Index, err, e.Raw)
		}
	}
	for _, r := range batch.Rejected {
		if w := want[r.Index]; w.raw != string(r.Raw) || !sameReason(r.Reason, w.reason) {
			t.Fatalf("event %d refused for %q, reference: %+v", r.Index, r.Reason, w)
		}
	}
}

// sameReason compares reasons, loosely where the reference is loose.
func sameReason(got, want string) bool {
	switch want {
	case "":
		return false
	case flawed:
		return strings.HasSuffix(got, ": "+flawDuplicate) || strings.HasSuffix(got, ": "+flawSurrogate)
	case "type: unknown value":
		return strings.HasPrefix(got, want+" ")
	default:
		return got == want
	}
}

// seeds are bodies to mutate and to start fuzzing from.
func seeds(t testing.TB) [][]byte {
	bodies := [][]byte{mixedBody(typeCount), []byte(` { "x" : [ 1 , -2.5e+3 , true , null ] , "events" : [ ] } `)}
	for _, c := range corpus(t) {
		bodies = append(bodies, []byte(c.json), []byte(`{"events":[`+eventWith("log", `{"message":"m","fields":{"x":`+c.json+`}}`)+`]}`))
	}
	for _, c := range reasonCases(t) {
		bodies = append(bodies, bodyOf(c.event, sampleEvent(Log)))
	}
	return bodies
}

// fragments are what mutations insert.
var fragments = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\t", "\x00", "\x1f", "\x7f", "\x80", "\xc3", "\xed\xa0\x80", "\xef\xbb\xbf", "é", "日本", "\U0001F600",
	`\u0061`, `\ud800`, `\ud83d\ude00`, `\udc00`, `\u00`, `\x`, `\n`, `null`, `true`, `false`, `0`, `-0`, `01`, `1.0`, `1e3`, `1E+2`, `1e400`, `1.`, `.5`, `-`, `1e`,
	`"type"`, `"ts"`, `"data"`, `"events"`, `"message":"m",`, `"actor":null,`, `"a":1,"a":2,`, `"type":"log",`, `"\u0074ype":"log",`,
	`9223372036854775807`, `9223372036854775808`, `123456789012345678901`, `0.00000000000000000000000000000000000001`, `1970`, `2201`, `60`, `+00:00`, `.1234567890`,
}

func TestScannerAgainstReferenceOnMutations(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("WEIR_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("seed %d; WEIR_TEST_SEED=%d repeats this run", seed, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	bodies := seeds(t)
	rounds := 30_000
	if testing.Short() {
		rounds = 3_000
	}
	var batch Batch
	for range rounds {
		body := bodies[random.IntN(len(bodies))]
		for range 1 + random.IntN(3) {
			body = mutate(random, body)
		}
		compare(t, &batch, body)
	}
}

// mutate returns a changed copy.
func mutate(random *rand.Rand, body []byte) []byte {
	at := random.IntN(len(body) + 1)
	until := min(len(body), at+random.IntN(6))
	switch random.IntN(4) {
	case 0: // cut
		return append(append([]byte{}, body[:at]...), body[until:]...)
	case 1: // copy a stretch elsewhere
		to := random.IntN(len(body) + 1)
		return append(append(append([]byte{}, body[:to]...), body[at:until]...), body[to:]...)
	case 2: // replace
		return append(append(append([]byte{}, body[:at]...), fragments[random.IntN(len(fragments))]...), body[until:]...)
	default: // insert
		return append(append(append([]byte{}, body[:at]...), fragments[random.IntN(len(fragments))]...), body[at:]...)
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range seeds(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var batch Batch
		compare(t, &batch, body)
	})
}

func FuzzOpen(f *testing.F) {
	for _, kind := range Types() {
		f.Add([]byte(sampleEvent(kind)))
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		e, err := Open(raw)
		if err == nil {
			_ = e.AppendExtra(nil)
		}
		// Whatever the bytes are, reading them must not panic.
		_ = Members(raw, func(_, v []byte) bool { readEverything(v); return true })
		_ = Elements(raw, func(v []byte) bool { readEverything(v); return true })
		readEverything(raw)
	})
}

func readEverything(v []byte) {
	_, _ = String(v)
	_, _ = AppendString(nil, v)
	_, _ = Int(v)
	_, _ = Float(v)
	_, _ = Bool(v)
	_, _ = CurrencyCode(v)
	_, _ = ParseTime(v)
	if d, err := ParseDecimal(v); err == nil {
		_ = d.String()
	}
}

// jsonCase is one line of testdata/json.txt.
type jsonCase struct{ name, json string }

// corpus reads testdata/json.txt.
func corpus(t testing.TB) (all []jsonCase) {
	for _, line := range lines(t, "testdata/json.txt") {
		name, quoted, _ := strings.Cut(line, " ")
		text, err := strconv.Unquote(strings.TrimSpace(quoted))
		if err != nil {
			t.Fatalf("testdata/json.txt: %s: %v", name, err)
		}
		all = append(all, jsonCase{name, text})
	}
	return all
}

// lines reads a file of test data without blank lines and comments.
func lines(t testing.TB, path string) (all []string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if line := scan.Text(); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
