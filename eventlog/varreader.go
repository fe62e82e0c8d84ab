package eventlog

import "encoding/binary"

// varReader reads the variable-length fields of records. After the first one
// that does not fit, it gives zeros and remembers.
type varReader struct {
	rest []byte
	bad  bool
}

func (r *varReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *varReader) varint() int64 {
	u, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int64(u>>1) ^ -int64(u&1)
}

// varBytes reads length and bytes; null is nil.
func (r *varReader) varBytes() []byte {
	n := r.varint()
	if n < 0 {
		r.bad = r.bad || n != -1
		return nil
	}
	if n > int64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	return r.take(int(n))
}

// record reads one record into rec and returns its deltas of time and offset.
func (r *varReader) record(rec *Record) (timeDelta, offsetDelta int64) {
	size := r.varint()
	if size < 0 || size > int64(len(r.rest)) {
		r.bad = true
		return 0, 0
	}
	body := varReader{rest: r.take(int(size))}
	body.take(1) // attributes: none are defined
	timeDelta, offsetDelta = body.varint(), body.varint()
	rec.Key = body.varBytes()
	rec.Value = body.varBytes()
	body.headers(rec)
	r.bad = r.bad || body.bad || offsetDelta < 0
	return timeDelta, offsetDelta
}

// headers reads all headers. Ours fill Batch and Index when both are as we write
// them; whatever else there is goes to Headers.
func (r *varReader) headers(rec *Record) {
	count := r.varint()
	if count < 0 || count > int64(len(r.rest)) {
		r.bad = true
		return
	}
	var batch, index []byte
	for range count {
		key, value := r.varBytes(), r.varBytes()
		switch {
		case batch == nil && len(value) == 16 && string(key) == headerBatch:
			batch = value
		case index == nil && len(value) == 4 && string(key) == headerIndex:
			index = value
		case !r.bad:
			rec.Headers = append(rec.Headers, Header{Key: string(key), Value: value})
		}
	}
	if batch != nil && index != nil {
		rec.Batch = [16]byte(batch)
		rec.Index = int(binary.BigEndian.Uint32(index))
	}
}
