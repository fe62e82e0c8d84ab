package eventlog

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/segmentio/kafka-go/compress"
)

// pack appends the compressed records to dst.
func pack(dst []byte, c Compression, records []byte) ([]byte, error) {
	codec := compress.Compression(c).Codec()
	if codec == nil {
		return nil, fmt.Errorf("unknown compression %d", c)
	}
	buf := bytes.NewBuffer(dst)
	w := codec.NewWriter(buf)
	if _, err := w.Write(records); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func putInt32(b []byte, v int) { binary.BigEndian.PutUint32(b, uint32(v)) }
