package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/murmur3"
)

// Witness is what is kept of one record, so that the log can be asked later whether
// it is still the same: a topic that was deleted and made again, or a log that an
// unclean election cut short, may have grown past an offset that was read before.
// The zero Witness is none.
type Witness struct {
	Offset int64
	Sum    uint64 // of everything the record holds; never 0
}

// Witness of a record: equal for equal records at one offset.
func (r *Record) Witness() Witness {
	h := murmur3.New64()
	var fixed [28]byte
	copy(fixed[:], r.Batch[:])
	binary.BigEndian.PutUint32(fixed[16:], uint32(r.Index))
	binary.BigEndian.PutUint64(fixed[20:], uint64(r.Time.UnixMilli()))
	_, _ = h.Write(fixed[:])
	_, _ = h.Write(r.Key)
	_, _ = h.Write(fixed[:1]) // where the key ends
	_, _ = h.Write(r.Value)
	return Witness{Offset: r.Offset, Sum: max(h.Sum64(), 1)}
}

// known is false for the zero Witness.
func (w Witness) known() bool { return w.Sum != 0 }

// String is the form it has in a checkpoint.
func (w Witness) String() string {
	return strconv.FormatInt(w.Offset, 10) + ":" + strconv.FormatUint(w.Sum, 16)
}

func parseWitness(text string) (Witness, bool) {
	at, sum, ok := strings.Cut(text, ":")
	offset, err1 := strconv.ParseUint(at, 10, 63)
	n, err2 := strconv.ParseUint(sum, 16, 64)
	return Witness{Offset: int64(offset), Sum: n}, ok && err1 == nil && err2 == nil && n != 0
}

// witnessWait is how long a broker may hold the question for a record that is to be there.
const witnessWait = 100 * time.Millisecond

// Confirm asks the log for the record of a witness. It is nil when the log still has
// it, when retention deleted it, so that nothing can be said, and for the zero
// Witness. ErrRewritten when the log holds something else there, ErrPastEnd when it
// ends before; other errors are those of Fetch.
func (l *Log) Confirm(ctx context.Context, tp TopicPartition, w Witness) error {
	if !w.known() {
		return nil
	}
	chunk, err := l.Fetch(ctx, tp.Topic, tp.Partition, w.Offset, 1, witnessWait)
	switch {
	case errors.Is(err, ErrBehindRetention):
		return nil
	case err != nil:
		return err
	case chunk.LogStart > w.Offset:
		return nil
	case chunk.HighWatermark <= w.Offset:
		return fmt.Errorf("%w: %s partition %d offset %d, the end is %d", ErrPastEnd, tp.Topic, tp.Partition, w.Offset+1, chunk.HighWatermark)
	case len(chunk.Records) == 0 && chunk.Next == w.Offset:
		return fmt.Errorf("%w: fetch %s partition %d offset %d brought nothing", ErrUnavailable, tp.Topic, tp.Partition, w.Offset)
	case len(chunk.Records) == 0 || chunk.Records[0].Witness() != w:
		return fmt.Errorf("%w: %s partition %d offset %d", ErrRewritten, tp.Topic, tp.Partition, w.Offset)
	}
	return nil
}
