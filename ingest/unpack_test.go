package ingest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t testing.TB, s string, options ...zstd.EOption) string {
	t.Helper()
	w, err := zstd.NewWriter(nil, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(s), nil))
}

func TestPackedBodies(t *testing.T) {
	d := newDoor(t, func(c *Config) { c.MaxBatchBytes = 64 << 10 })
	padded := func(n int) string { return oneLog + strings.Repeat(" ", n-len(oneLog)) }
	bomb := strings.Repeat("\x00", 64<<20)
	for _, c := range []struct {
		name, encoding, body string
		status               int
		code                 string
	}{
		{"gzip", "gzip", gzipped(t, oneLog), 200, ""},
		{"gzip, upper case", "GZIP", gzipped(t, oneLog), 200, ""},
		{"gzip in two members", "gzip", gzipped(t, oneLog[:20]) + gzipped(t, oneLog[20:]), 200, ""},
		{"zstd", "zstd", zstded(t, oneLog), 200, ""},
		{"zstd in two frames", "zstd", zstded(t, oneLog[:20]) + zstded(t, oneLog[20:]), 200, ""},
		{"gzip, exactly the limit", "gzip", gzipped(t, padded(64<<10)), 200, ""},
		{"gzip, one byte over the limit", "gzip", gzipped(t, padded(64<<10+1)), 413, "batch_too_large"},
		{"zstd, exactly the limit", "zstd", zstded(t, padded(64<<10)), 200, ""},
		{"zstd, one byte over the limit", "zstd", zstded(t, padded(64<<10+1)), 413, "batch_too_large"},
		{"gzip bomb", "gzip", gzipped(t, bomb[:48<<20]), 413, "batch_too_large"},
		{"zstd bomb", "zstd", zstded(t, bomb), 413, "batch_too_large"},
		{"zstd that asks for a huge window", "zstd", "\x28\xb5\x2f\xfd\x00\xa0" + "\x01\x00\x00", 413, "batch_too_large"},
		{"gzip cut short", "gzip", gzipped(t, oneLog)[:40], 400, "invalid_encoding"},
		{"gzip with a wrong sum", "gzip", damaged(gzipped(t, oneLog)), 400, "invalid_encoding"},
		{"gzip with more after it", "gzip", gzipped(t, oneLog) + "x", 400, "invalid_encoding"},
		{"zstd cut short", "zstd", zstded(t, oneLog)[:30], 400, "invalid_encoding"},
		{"zstd with more after it", "zstd", zstded(t, oneLog) + "xxxx", 400, "invalid_encoding"},
		{"zstd said to be gzip", "gzip", zstded(t, oneLog), 400, "invalid_encoding"},
		{"nothing", "gzip", "", 400, "invalid_encoding"},
		{"deflate", "deflate", oneLog, 400, "invalid_encoding"},
	} {
		if len(c.body) > 64<<10 {
			t.Fatalf("%s: the body is itself over the limit: %d", c.name, len(c.body))
		}
		got := d.do(t, post{body: c.body, encoding: c.encoding})
		if got.status != c.status || got.code != c.code {
			t.Errorf("%s: got %v, want %d %s", c.name, got, c.status, c.code)
		}
	}
	if n := d.budget.used.Load(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}

// The signature is over the packed bytes, not over what they unpack to.
func TestSignatureIsOverTheBytesAsSent(t *testing.T) {
	d := newDoor(t)
	got := d.do(t, post{body: gzipped(t, oneLog), encoding: "gzip", signature: sign(secretA, oneLog)})
	if got.status != 403 {
		t.Error(got)
	}
}

// damaged changes a byte of the checksum at the end.
func damaged(s string) string {
	b := []byte(s)
	b[len(b)-6] ^= 0xff
	return string(b)
}
