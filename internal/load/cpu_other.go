//go:build !linux

package load

import (
	"errors"
	"time"
)

// ProcessCPU is known on Linux only.
func ProcessCPU(int) (time.Duration, error) {
	return 0, errors.New("the processor time of another process is read on Linux only")
}
