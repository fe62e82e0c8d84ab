package broker

import (
	"fmt"
	"os"
	"syscall"
)

// waitBefore is SYNC_FILE_RANGE_WAIT_BEFORE: wait for writes that are under way, begin none.
const waitBefore = 1

// failedWrites says that something written to the file did not reach the disk, once for each time a
// file was opened. It costs no flush.
func failedWrites(file *os.File) error {
	if err := syscall.SyncFileRange(int(file.Fd()), 0, 0, waitBefore); err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	return nil
}
