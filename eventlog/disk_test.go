package eventlog

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/broker"
)

// mounted runs mount, and umount at the test's end; without the right to, the test is left out.
func mounted(t *testing.T, dir string, args ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("mount %q: %v: %s", args, err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

func largeSet(b byte) Set {
	s := oneSet(b, 1)
	s.Values[0] = make([]byte, 100<<10)
	for i := range s.Values[0] {
		s.Values[0][i] = byte(i * i >> 7) // no compression makes it small
	}
	return s
}

// TestFullDisk: what was acknowledged is there, nothing else is accepted while the disk is full,
// checkpoints neither, and when there is room everything goes on, in this broker and in the next.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	mounted(t, dir, "-t", "tmpfs", "-o", "size=12m", "weirtest")
	cfg := broker.Config{DataDir: filepath.Join(dir, "log"), MinFree: 4 << 20}
	b := startBroker(t, cfg)
	logCfg := testConfig(t, b.Addrs())
	logCfg.AppendTimeout, logCfg.RequestTimeout = 2*time.Second, 2*time.Second
	l := openLog(t, logCfg)
	m, err := l.Join(t.Context(), "g", []string{testTopic})
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Next(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	tp := TopicPartition{testTopic, 0}
	var acknowledged []byte
	add := func() error {
		next := byte('a' + len(acknowledged)%26)
		_, err := l.Append(t.Context(), testTopic, 0, largeSet(next))
		if err == nil {
			acknowledged = append(acknowledged, next)
		}
		return err
	}
	for err = add(); err == nil && len(acknowledged) < 1000; {
		err = add()
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("after %d appends: %v; expected that the log is unavailable", len(acknowledged), err)
	}
	if err := a.Advance(t.Context(), tp, 1, Witness{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a checkpoint on a full disk: %v", err)
	}
	if free, floor := b.Room(); free >= floor || floor != cfg.MinFree || free < floor/2 {
		t.Errorf("%d bytes are free, below %d nothing is accepted", free, floor)
	}
	if got := batches(t, l, 0); got != string(acknowledged) {
		t.Errorf("the full log holds %q, want %q", got, acknowledged)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=64m", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	for range 30 {
		if err := add(); err != nil {
			t.Fatalf("with room again: %v", err)
		}
	}
	if err := a.Advance(t.Context(), tp, 2, Witness{}); err != nil {
		t.Errorf("a checkpoint with room again: %v", err)
	}
	if err := m.Close(within(t, 30*time.Second)); err != nil {
		t.Error(err)
	}
	b.Close()
	l2 := openLog(t, testConfig(t, startBroker(t, cfg).Addrs()))
	if got := batches(t, l2, 0); got != string(acknowledged) {
		t.Errorf("after a restart the log holds %q, want %q", got, acknowledged)
	}
}

// TestDiskLosesWrites: a disk that takes writes and can't keep them, here one that pretends to more
// room than there is below it, is noticed although kfake does not look, and nothing more is accepted.
func TestDiskLosesWrites(t *testing.T) {
	below, dir := t.TempDir(), t.TempDir()
	mounted(t, below, "-t", "tmpfs", "-o", "size=12m", "weirtest")
	image := filepath.Join(below, "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 512<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext2", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext2: %v: %s", err, out)
	}
	mounted(t, dir, "-o", "loop", image)
	b := startBroker(t, broker.Config{DataDir: filepath.Join(dir, "log")})
	cfg := testConfig(t, b.Addrs())
	cfg.AppendTimeout = 2 * time.Second
	l := openLog(t, cfg)
	limit := time.After(time.Minute)
	for appended := 0; ; appended++ {
		_, err := l.Append(t.Context(), testTopic, 0, largeSet('a'))
		select {
		case <-b.Failed():
			t.Logf("after %d appends: %v", appended, b.Err())
			if _, err := l.Append(t.Context(), testTopic, 0, largeSet('b')); !errors.Is(err, ErrUnavailable) {
				t.Errorf("an append to a failed disk: %v", err)
			}
			return
		case <-limit:
			t.Fatalf("nothing was noticed after %d appends, the last of which gave %v", appended, err)
		default:
		}
	}
}
