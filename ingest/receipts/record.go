package receipts

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The records are text, so that the topic can be read with any Kafka tool:
//
//	claim <origin> <gateway> <digest> <topics>\n<response body>
//	anew <origin> <gateway> <digest> <topics>\n<response body>
//	receipt <origin> <positions>\n<response body>
//
// origin is the Unix time in milliseconds of the first claim in a chain of
// take-overs; it names the batch. What follows the gateway is its Intent, in
// case the gateway does not live to end it: the digest in 32 hex digits, the
// topics with commas between them, and the response, which is empty when it is
// not known yet or too long. Topics and positions are "-" when there are none.
// A claim anew begins a new chain in place of one that appended nothing.
// A record's own time, in whole seconds, is when a receipt begins to count.
const (
	claimWord   = "claim"
	anewWord    = "anew"
	receiptWord = "receipt"
)

// errForeign is a record this version can't read. It is counted and skipped: a
// later version may write kinds that this one does not know.
var errForeign = errors.New("not a claim or receipt of this version")

type record struct {
	receipt   bool
	anew      bool // a claim that begins a new chain
	origin    int64
	gateway   string   // claims only
	digest    [16]byte // claims only
	topics    string   // claims only, "" for none
	positions string   // receipts only, "" for none
	body      []byte
}

func appendClaim(b []byte, word string, origin int64, gateway string, in *Intent) []byte {
	topics := strings.Join(in.Topics, ",")
	if topics == "" {
		topics = "-"
	}
	b = fmt.Appendf(b, "%s %d %s %x %s\n", word, origin, gateway, in.Digest, topics)
	if len(in.Answer) <= keptAnswer {
		b = append(b, in.Answer...)
	}
	return b
}

func appendReceipt(b []byte, origin int64, positions string, body []byte) []byte {
	if positions == "" {
		positions = "-"
	}
	b = fmt.Appendf(b, "%s %d %s\n", receiptWord, origin, positions)
	return append(b, body...)
}

func parseRecord(value []byte) (record, error) {
	head, body, ended := bytes.Cut(value, []byte{'\n'})
	word, rest, _ := bytes.Cut(head, []byte{' '})
	number, last, ok := bytes.Cut(rest, []byte{' '})
	origin, err := strconv.ParseInt(string(number), 10, 64)
	if !ok || err != nil || len(last) == 0 {
		return record{}, errForeign
	}
	if !ended {
		return record{}, errForeign
	}
	switch string(word) {
	case claimWord, anewWord:
		r := record{anew: string(word) == anewWord, origin: origin, body: body}
		return r, r.readIntent(last)
	case receiptWord:
		return record{receipt: true, origin: origin, positions: orNone(last), body: body}, nil
	}
	return record{}, errForeign
}

func (r *record) readIntent(words []byte) error {
	parts := bytes.Split(words, []byte{' '})
	if len(parts) != 3 || len(parts[0]) == 0 || len(parts[2]) == 0 || len(parts[1]) != hex.EncodedLen(len(r.digest)) {
		return errForeign
	}
	if _, err := hex.Decode(r.digest[:], parts[1]); err != nil {
		return errForeign
	}
	r.gateway, r.topics = string(parts[0]), orNone(parts[2])
	return nil
}

func orNone(word []byte) string {
	if string(word) == "-" {
		return ""
	}
	return string(word)
}

// validGateway says whether a gateway's name can stand in a claim.
func validGateway(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
