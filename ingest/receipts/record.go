package receipts

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// The records are text, so that the topic can be read with any Kafka tool:
//
//	claim <origin> <gateway>
//	receipt <origin> <positions>\n<response body>
//
// origin is the Unix time in milliseconds of the first claim in a chain of
// take-overs; it names the batch. Positions is "-" when nothing was appended.
// A record's own time, in whole seconds, is when a receipt begins to count.
const (
	claimWord   = "claim"
	receiptWord = "receipt"
)

// errForeign is a record this version can't read. It is counted and skipped: a
// later version may write kinds that this one does not know.
var errForeign = errors.New("not a claim or receipt of this version")

type record struct {
	receipt   bool
	origin    int64
	gateway   string // claims only
	positions string // receipts only, "" for none
	body      []byte // receipts only
}

func appendClaim(b []byte, origin int64, gateway string) []byte {
	return fmt.Appendf(b, "%s %d %s", claimWord, origin, gateway)
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
	switch {
	case string(word) == claimWord && !ended:
		return record{origin: origin, gateway: string(last)}, nil
	case string(word) == receiptWord && ended:
		r := record{receipt: true, origin: origin, body: body}
		if string(last) != "-" {
			r.positions = string(last)
		}
		return r, nil
	}
	return record{}, errForeign
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
