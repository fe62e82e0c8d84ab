package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"weir/internal/diskspace"
)

// DefaultMinFree is room for the largest request twice over: kfake writes an index beside the
// records, and a disk that fills up between the two leaves it with half an entry.
const DefaultMinFree = 256 << 20

// A disk that loses what is written to it may go unnoticed for askPause; in a segment that has just
// been begun, for a second.
const (
	askPause      = 100 * time.Millisecond
	asksPerSearch = 10
)

// disk is what kfake does not look after: it fills a disk to the last byte, and it calls fsync
// without looking at the result.
type disk struct {
	dir     string
	minFree int64
	logger  *slog.Logger
	full    atomic.Bool

	files map[string]*segment // by partition folder; of watch only
	lost  chan struct{}
	err   error // read after lost
}

func newDisk(cfg Config) *disk {
	d := &disk{dir: cfg.DataDir, minFree: cfg.MinFree, logger: cfg.Logger, files: map[string]*segment{}, lost: make(chan struct{})}
	if d.minFree == 0 {
		d.minFree = DefaultMinFree
	}
	return d
}

// refusal answers appends and checkpoints with an error that clients retry, for as long as the disk
// is full or has failed.
func (d *disk) refusal() kfake.Fault {
	return kfake.Fault{Keys: []kmsg.Key{kmsg.Produce, kmsg.OffsetCommit}, Err: kerr.KafkaStorageError, Count: -1, When: d.refuses}
}

func (d *disk) refuses(kmsg.Request) bool {
	select {
	case <-d.lost:
		return true
	default:
	}
	free, err := diskspace.Free(d.dir)
	full := err == nil && free < d.minFree // a disk that does not say is written to until it refuses
	if d.full.Swap(full) != full {
		if full {
			d.logger.Error("embedded log: the disk is full: nothing is accepted until there is room",
				"folder", d.dir, "free_bytes", free, "needed_bytes", d.minFree)
		} else {
			d.logger.Info("embedded log: the disk has room again", "folder", d.dir, "free_bytes", free)
		}
	}
	return full
}

// watch asks whether the disk has kept what was written. Linux tells every open file once of a write
// that failed: kfake's own, which it ignores, and ours.
func (d *disk) watch(ctx context.Context) {
	tick := time.NewTicker(askPause)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%asksPerSearch == 0 {
			d.search()
		}
		if err := d.ask(); err != nil {
			d.err = err
			close(d.lost)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask asks for failed writes of the files that are appended to.
func (d *disk) ask() error {
	for _, known := range d.files {
		if err := failedWrites(known.file); lost(err) {
			return fmt.Errorf("embedded log: the disk lost what was written to it: %w; events acknowledged in the last second may be missing: "+
				"check the disk, then start again", err)
		}
	}
	return nil
}

// search opens each partition's newest segment.
func (d *disk) search() {
	_ = filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			d.open(path)
		}
		return nil
	})
}

// lost tells a write that failed from a question that can't be asked.
func lost(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// segment is an open file of a partition, the one that is appended to.
type segment struct {
	base int64
	file *os.File
}

func (d *disk) open(folder string) {
	known := d.files[folder]
	base, found := newestSegment(folder)
	if !found || known != nil && known.base == base {
		return
	}
	file, err := os.Open(filepath.Join(folder, segmentName(base)))
	if err != nil {
		return // gone meanwhile, or to be tried again
	}
	if known != nil {
		_ = known.file.Close()
	}
	d.files[folder] = &segment{base, file}
}

const segmentSuffix = ".dat"

func segmentName(base int64) string { return strconv.FormatInt(base, 10) + segmentSuffix }

// newestSegment is the one with the greatest first offset.
func newestSegment(folder string) (base int64, found bool) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, false
	}
	for _, entry := range entries {
		number, is := strings.CutSuffix(entry.Name(), segmentSuffix)
		if n, err := strconv.ParseInt(number, 10, 64); is && err == nil && (!found || n > base) {
			base, found = n, true
		}
	}
	return base, found
}

// end looks a last time, after the broker has written out what it had.
func (d *disk) end() {
	if err := d.ask(); err != nil {
		d.logger.Error(err.Error())
	}
	for _, known := range d.files {
		_ = known.file.Close()
	}
}
