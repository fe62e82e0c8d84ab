package clickhouse

import (
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"weir/internal/child"
)

func sleeper(t *testing.T) *child.Process {
	t.Helper()
	p, err := child.Start(exec.Command("sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func ended(p *child.Process) bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

// The recorded process is ended when it does not end by itself.
func TestEndPrevious(t *testing.T) {
	dir, old := t.TempDir(), sleeper(t)
	record := childRecord{PID: old.PID(), Identity: processIdentity(old.PID())}
	if err := record.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := endPrevious(t.Context(), dir, 10*time.Millisecond, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	<-old.Ended()
}

// A process that only has the recorded one's id is left alone, and so is everything when the
// record can't be read.
func TestEndPreviousSparesOthers(t *testing.T) {
	other := sleeper(t)
	for name, record := range map[string]string{
		"another start": `{"pid":` + strconv.Itoa(other.PID()) + `,"identity":"earlier"}`,
		"no identity":   `{"pid":` + strconv.Itoa(other.PID()) + `}`,
		"no JSON":       `{`,
		"init":          `{"pid":1,"identity":"x"}`,
		"all":           `{"pid":-1,"identity":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(recordPath(dir), []byte(record), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := endPrevious(t.Context(), dir, 10*time.Millisecond, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			if ended(other) {
				t.Error("a process that was not recorded has been ended")
			}
		})
	}
}
