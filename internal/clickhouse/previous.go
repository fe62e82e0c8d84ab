package clickhouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// previousGrace is how long an engine whose parent was killed may take to end by itself: with
// open connections it needs up to five seconds once its standard input has ended.
const previousGrace = 6 * time.Second

// childRecord names the running child in the data folder, for the next start.
type childRecord struct {
	PID      int    `json:"pid"`
	Identity string `json:"identity"` // see processIdentity
	Native   string `json:"native"`
	HTTP     string `json:"http"`
}

func recordPath(dataDir string) string { return filepath.Join(dataDir, "child.json") }

func (r childRecord) write(dataDir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := recordPath(dataDir) + ".new"
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, recordPath(dataDir))
}

// endPrevious makes sure that the child of an earlier, killed parent is gone, as two engines on
// one folder would refuse each other. Only the very process that was recorded is ended.
func endPrevious(ctx context.Context, dataDir string, grace time.Duration, logger *slog.Logger) error {
	text, err := os.ReadFile(recordPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return dataError(err)
	}
	var old childRecord
	if err := json.Unmarshal(text, &old); err != nil || old.PID <= 1 || old.Identity == "" {
		logger.Warn("the record of the last ClickHouse process can't be read and is ignored", "file", recordPath(dataDir))
		return nil
	}
	if gone(ctx, old, grace) {
		return nil
	}
	logger.Warn("ending the ClickHouse process that an earlier run left behind", "pid", old.PID)
	_ = syscall.Kill(old.PID, syscall.SIGKILL)
	if !gone(ctx, old, previousGrace) {
		return fmt.Errorf("the ClickHouse process %d of an earlier run still uses %s and does not end; end it (kill -9 %d) and start again", old.PID, dataDir, old.PID)
	}
	return nil
}

// gone waits for the end of the recorded process.
func gone(ctx context.Context, r childRecord, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for processIdentity(r.PID) == r.Identity {
		if pause(ctx, 50*time.Millisecond) != nil {
			return processIdentity(r.PID) != r.Identity
		}
	}
	return true
}
