//go:build !linux

package broker

import "os"

// failedWrites asks with a flush.
func failedWrites(file *os.File) error { return file.Sync() }
