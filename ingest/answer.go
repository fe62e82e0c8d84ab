package ingest

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"weir/ingest/receipts"
	"weir/internal/httpapi"
	"weir/schemas"
)

// headerPosition is spelled as net/http keys it.
const headerPosition = "X-Service-Log-Position"

// appendAnswer writes the response of a batch: exactly accepted and rejected.
func appendAnswer(b []byte, batch *schemas.Batch) []byte {
	b = append(b, `{"accepted":`...)
	b = strconv.AppendInt(b, int64(len(batch.Events)), 10)
	b = append(b, `,"rejected":[`...)
	for i := range batch.Rejected {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(batch.Rejected[i].Index), 10)
		b = append(b, `,"reason":`...)
		b = appendString(b, batch.Rejected[i].Reason)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// appendString writes a JSON string. Reasons hold names and values of events,
// so anything may be in them.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}

// answer is the 200 of a batch that was processed.
func (q *request) answer() {
	q.write(q.response, q.position.String())
}

// replay is the 200 of a repeat: the first answer's bytes, whatever this body is.
func (q *request) replay(a receipts.Answer) {
	q.w.Header()[headerReplayed] = []string{"true"}
	q.write(a.Body, a.Positions)
	q.answered = true
}

func (q *request) write(body []byte, positions string) {
	h := q.w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if positions != "" {
		h[headerPosition] = []string{positions}
	}
	q.standing.WriteHeaders(h)
	q.status = http.StatusOK
	q.w.WriteHeader(http.StatusOK)
	_, _ = q.w.Write(body) // a client that is gone repeats the batch
}

var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// refuse answers with the problem err stands for.
func (q *request) refuse(err error) {
	var known *httpapi.Error
	if !errors.As(err, &known) {
		known = &httpapi.Error{Code: httpapi.CodeInternal, Detail: "the request id finds this in the log"}
		known = known.Because(err)
	}
	q.status = known.Code.Status()
	if q.bodyRead || q.r.Body == nil || q.r.Body == http.NoBody {
		httpapi.WriteError(q.w, q.r, known)
		return
	}
	q.refuseUnread(known)
}

const (
	// smallBody is what net/http itself reads to the end before it answers.
	smallBody = 256 << 10

	// lingerBytes and lingerTime bound what is read and thrown away after an
	// answer. A client that is still sending reads the answer only when it has
	// sent everything; without this it would see a broken connection instead.
	lingerBytes = 16 << 20
	lingerTime  = 6 * time.Second
)

// refuseUnread answers before the body was read. The body takes no memory, but
// is given a little time to end.
func (q *request) refuseUnread(err *httpapi.Error) {
	conn := http.NewResponseController(q.w)
	if q.broken {
		_ = conn.SetReadDeadline(time.Now()) // net/http must not wait for it either
		httpapi.WriteError(q.w, q.r, err)
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
	small := q.r.ContentLength >= 0 && q.r.ContentLength <= smallBody
	if small || q.r.Header.Get("Expect") != "" || conn.EnableFullDuplex() != nil {
		httpapi.WriteError(q.w, q.r, err)
		return
	}
	q.w.Header().Set("Connection", "close")
	httpapi.WriteError(q.w, q.r, err)
	if conn.Flush() == nil {
		_, _ = io.CopyN(io.Discard, q.r.Body, lingerBytes)
	}
}
