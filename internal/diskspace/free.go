// Package diskspace says how much room a disk has.
package diskspace

import (
	"math"
	"syscall"
)

// Free is the number of bytes that may still be written to the disk that holds dir. The error is
// that of a disk that does not say.
func Free(dir string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, err
	}
	free := disk.Bavail * uint64(disk.Bsize)
	return int64(min(free, math.MaxInt64)), nil
}
