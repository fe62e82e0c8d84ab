package load

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// request is one POST as it goes over the wire.
func request(host, key string, secret, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /api/ingest HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", host, key)
	fmt.Fprintf(&b, "Content-Type: application/json\r\nX-Service-Signature: %s\r\n", hex.EncodeToString(mac.Sum(nil)))
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return b.Bytes()
}

// answer is what is kept of a response.
type answer struct {
	status   int
	accepted int // of a 200
	wait     time.Duration
}

// conn is one keep-alive connection, opened again when the server closes it.
type conn struct {
	addr string
	net  net.Conn
	in   *bufio.Reader
	body []byte
}

// answerTime is how long a server may take before the connection is given up.
const answerTime = 30 * time.Second

func (c *conn) send(request []byte) (answer, error) {
	reused := c.net != nil
	if err := c.open(); err != nil {
		return answer{}, err
	}
	a, err := c.exchange(request)
	if err != nil {
		c.close()
		if reused && a.status == 0 {
			return c.sendAnew(request, err) // it was closed while idle
		}
	}
	return a, err
}

func (c *conn) sendAnew(request []byte, cause error) (answer, error) {
	if err := c.open(); err != nil {
		return answer{}, fmt.Errorf("%w (after %w)", err, cause)
	}
	a, err := c.exchange(request)
	if err != nil {
		c.close()
	}
	return a, err
}

func (c *conn) open() error {
	if c.net != nil {
		return nil
	}
	n, err := net.DialTimeout("tcp", c.addr, 5*time.Second)
	if err != nil {
		return err
	}
	c.net, c.in = n, bufio.NewReaderSize(n, 4<<10)
	return nil
}

func (c *conn) close() {
	if c.net != nil {
		_ = c.net.Close()
		c.net = nil
	}
}

func (c *conn) exchange(request []byte) (answer, error) {
	if err := c.net.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return answer{}, err
	}
	if _, err := c.net.Write(request); err != nil {
		return answer{}, err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: res.StatusCode}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		a.wait = time.Duration(seconds) * time.Second
	}
	defer func() { _ = res.Body.Close() }()
	buf := bytes.NewBuffer(c.body[:0])
	_, err = io.Copy(buf, io.LimitReader(res.Body, 1<<20))
	c.body = buf.Bytes()
	if a.status == http.StatusOK {
		a.accepted = accepted(c.body)
	}
	if res.Close {
		c.close()
	}
	return a, err
}

// accepted reads the number at the head of {"accepted":12,…}.
func accepted(body []byte) (n int) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"accepted":`))
	for i := 0; ok && i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		n = 10*n + int(rest[i]-'0')
	}
	return n
}
