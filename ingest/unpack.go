package ingest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"weir/ingest/receipts"
	"weir/internal/httpapi"
)

// unpack undoes the Content-Encoding, never beyond the size limit.
func (q *request) unpack() error {
	err := q.unpackBody()
	if err == nil && q.flight != nil {
		q.digest = receipts.DigestOf(q.body)
	}
	return err
}

func (q *request) unpackBody() error {
	switch encoding(q.r.Header["Content-Encoding"]) {
	case "", "identity":
		q.body = q.sent
		return nil
	case "gzip", "x-gzip":
		return q.unpackWith(gunzip)
	case "zstd":
		return q.unpackWith(unzstd)
	}
	return httpapi.Errorf(httpapi.CodeInvalidEncoding, "the content encoding is not supported: send gzip, zstd, or none")
}

// encoding joins what was given, so that two encodings are an unknown one.
func encoding(values []string) string {
	return strings.ToLower(strings.Trim(strings.Join(values, ","), " \t"))
}

func (q *request) unpackWith(open func(io.Reader) (io.Reader, func(), error)) error {
	src, free, err := open(bytes.NewReader(q.sent))
	if err != nil {
		return brokenEncoding(err)
	}
	defer free()
	for {
		room, err := q.grown(q.bodyRoom, 0)
		q.bodyRoom = room
		if err != nil {
			return err
		}
		n, err := src.Read(room.bytes[len(room.bytes):cap(room.bytes)])
		room.bytes = room.bytes[:len(room.bytes)+n]
		switch {
		case len(room.bytes) > q.maxBytes:
			return q.tooLarge()
		case err == io.EOF:
			q.body = room.bytes
			return nil
		case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return q.tooLarge()
		case err != nil:
			return brokenEncoding(err)
		}
	}
}

func brokenEncoding(err error) error {
	return httpapi.Errorf(httpapi.CodeInvalidEncoding, "the body is not what its Content-Encoding says: send it again").Because(err)
}

var gzipReaders sync.Pool // of *gzip.Reader

func gunzip(src io.Reader) (io.Reader, func(), error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	if err := r.Reset(src); err != nil {
		gzipReaders.Put(r)
		return nil, nil, err
	}
	return r, func() { gzipReaders.Put(r) }, nil
}

// zstdWindow is the window every decoder must have (RFC 8878); a frame that
// asks for more is refused before it gets the memory.
const zstdWindow = 8 << 20

// zstdReaders are few, because each may hold a window: who finds none waits,
// and unpacking is work for a processor anyway.
var zstdReaders = func() chan *zstd.Decoder {
	c := make(chan *zstd.Decoder, 4)
	for range cap(c) {
		c <- nil
	}
	return c
}()

func unzstd(src io.Reader) (io.Reader, func(), error) {
	d := <-zstdReaders
	free := func() { zstdReaders <- d }
	var err error
	if d == nil {
		d, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	} else {
		err = d.Reset(src)
	}
	if err != nil {
		free()
		return nil, nil, err
	}
	return d, free, nil
}
