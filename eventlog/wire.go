package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/segmentio/kafka-go/protocol"
)

// Requests whose bytes matter to us (produce, fetch, group membership) are
// written and read by hand and sent through kafka-go's transport, which finds the
// broker and keeps the connections: that saves it a copy and an allocation per
// record, and fixes their versions. All of them exist since Kafka 2.4 and in 4.x.

// largestReply bounds what is read into memory for one answer. A fetch can bring
// one record batch more than was asked for.
const largestReply = 256 << 20

var (
	errAbandoned = errors.New("request was given up before it was sent")
	errReply     = errors.New("broker answered with bytes that do not fit the protocol")
)

// call is one request in its final bytes: size, header, body.
type call struct {
	key   protocol.ApiKey
	frame []byte
	state atomic.Int32
}

const (
	callReady = iota
	callSent
	callAbandoned
)

// reply is the body of an answer, after the correlation id.
type reply struct {
	key  protocol.ApiKey
	body []byte
}

func (r *reply) ApiKey() protocol.ApiKey { return r.key }

// ApiKey makes call a protocol.Message.
func (c *call) ApiKey() protocol.ApiKey { return c.key }

// Required makes kafka-go hand the connection to RawExchange.
func (c *call) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the frame and reads the answer. kafka-go closes the
// connection when it fails.
func (c *call) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if !c.state.CompareAndSwap(callReady, callSent) {
		return nil, errAbandoned
	}
	if _, err := rw.Write(c.frame); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > largestReply {
		return nil, fmt.Errorf("%w: %d bytes long", errReply, size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(rw, body); err != nil {
		return nil, err
	}
	return &reply{key: c.key, body: body}, nil
}

// abandon reports whether the call was never sent, and sees to it that it never
// is. Call it after a round trip failed.
func (c *call) abandon() bool {
	return c.state.CompareAndSwap(callReady, callAbandoned) || c.state.Load() == callAbandoned
}

// partitionCall goes to the leader of a partition.
type partitionCall struct {
	*call
	topic     string
	partition int
}

// Broker finds the leader in what the transport knows of the cluster.
func (c *partitionCall) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	topic, ok := cluster.Topics[c.topic]
	if !ok {
		return protocol.Broker{}, protocol.NewErrNoTopic(c.topic)
	}
	partition, ok := topic.Partitions[int32(c.partition)]
	if !ok {
		return protocol.Broker{}, protocol.NewErrNoPartition(c.topic, int32(c.partition))
	}
	broker, ok := cluster.Brokers[partition.Leader]
	if !ok {
		return protocol.Broker{}, protocol.NewErrNoLeader(c.topic, int32(c.partition))
	}
	return broker, nil
}

// groupCall goes to the coordinator of a group.
type groupCall struct {
	*call
	group string
}

// Group names the group whose coordinator is wanted.
func (c *groupCall) Group() string { return c.group }

// newFrame begins a request. finishFrame must follow.
func newFrame(dst []byte, key protocol.ApiKey, version int16, clientID string) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = appendInt16(dst, int16(key))
	dst = appendInt16(dst, version)
	dst = appendInt32(dst, 0) // correlation id: one request at a time per connection
	return appendString(dst, clientID)
}

func finishFrame(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendString(b []byte, s string) []byte {
	return append(appendInt16(b, int16(len(s))), s...)
}

func appendBytes(b, v []byte) []byte {
	return append(appendInt32(b, int32(len(v))), v...)
}

// appendNull writes a null string.
func appendNull(b []byte) []byte { return appendInt16(b, -1) }

// reader reads the fields of an answer. After the first one that does not fit,
// it gives zeros and remembers.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// string reads a string; null is empty.
func (r *reader) string() string {
	n := r.int16()
	if n < 0 {
		return ""
	}
	return string(r.take(int(n)))
}

// bytes reads bytes; null is nil.
func (r *reader) bytes() []byte {
	n := r.int32()
	if n < 0 {
		return nil
	}
	return r.take(int(n))
}

// count reads the length of an array whose elements have at least size bytes.
func (r *reader) count(size int) int {
	n := int(r.int32())
	if n <= 0 {
		return 0
	}
	if n > len(r.rest)/size {
		r.bad, r.rest = true, nil
		return 0
	}
	return n
}

func (r *reader) err() error {
	if r.bad {
		return errReply
	}
	return nil
}
