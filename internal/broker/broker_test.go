package broker_test

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/broker"
)

func config(t *testing.T) broker.Config {
	return broker.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// TestUnusableFolder is reported by name, before anything runs.
func TestUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config(t)
	cfg.DataDir = filepath.Join(file, "log")
	_, err := broker.Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), cfg.DataDir) {
		t.Errorf("start in a folder that cannot be: %v", err)
	}
}

// TestTakenPort is reported with its address.
func TestTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := config(t)
	cfg.Addr = taken.Addr().String()
	_, err = broker.Start(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), cfg.Addr) {
		t.Errorf("start on a taken port: %v", err)
	}
}

// TestDamagedFolder is refused, not begun anew.
func TestDamagedFolder(t *testing.T) {
	cfg := config(t)
	cfg.DataDir = t.TempDir()
	b, err := broker.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	b.Close()
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "topics.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err = broker.Start(t.Context(), cfg); err == nil {
		b.Close()
		t.Fatal("a damaged folder was loaded")
	}
	if !strings.Contains(err.Error(), cfg.DataDir) {
		t.Errorf("error %v does not name the folder", err)
	}
}

// TestLoopbackOnly: nobody else can reach the broker.
func TestLoopbackOnly(t *testing.T) {
	b, err := broker.Start(t.Context(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, addr := range b.Addrs() {
		host, _, err := net.SplitHostPort(addr)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("listens on %s, %v", addr, err)
		}
	}
}
