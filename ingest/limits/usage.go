package limits

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// A record of the topic is text, so that it can be read with any Kafka tool:
//
//	usage <gateway> <number>
//	<project> <events> <batches> <events left> <batches left> <events a second> <batches a second>
//	…
//
// number grows by one with each record of a gateway that is not a repetition: a
// record whose append may have failed is appended again as it was, and who has
// read its number already passes over it.
const usageWord = "usage"

// errForeign is a record this version can't read. It is counted and skipped.
var errForeign = errors.New("not a usage record of this version")

func appendUsage(b []byte, gateway string, number int64, told []Usage) []byte {
	b = fmt.Appendf(b, "%s %s %d", usageWord, gateway, number)
	for _, u := range told {
		b = append(append(b, '\n'), u.Project...)
		for _, n := range []int64{
			u.Events, u.Batches, u.EventsLeft, u.BatchesLeft, int64(u.Rates.EventsPerSecond), int64(u.Rates.BatchesPerSecond),
		} {
			b = strconv.AppendInt(append(b, ' '), n, 10)
		}
	}
	return b
}

// parseUsage reads a record and calls tell for each project.
func parseUsage(value []byte) (gateway string, number int64, told []Usage, err error) {
	head, rest, more := bytes.Cut(value, []byte{'\n'})
	words := bytes.Split(head, []byte{' '})
	if len(words) != 3 || string(words[0]) != usageWord || len(words[1]) == 0 {
		return "", 0, nil, errForeign
	}
	if number, err = strconv.ParseInt(string(words[2]), 10, 64); err != nil {
		return "", 0, nil, errForeign
	}
	for more {
		var line []byte
		line, rest, more = bytes.Cut(rest, []byte{'\n'})
		u, ok := parseLine(line)
		if !ok {
			return "", 0, nil, errForeign
		}
		told = append(told, u)
	}
	return string(words[1]), number, told, nil
}

func parseLine(line []byte) (u Usage, ok bool) {
	words := bytes.Split(line, []byte{' '})
	if len(words) != 7 || len(words[0]) == 0 {
		return u, false
	}
	var n [6]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(string(words[i+1]), 10, 64); err != nil {
			return u, false
		}
	}
	return Usage{
		Project: string(words[0]), Events: n[0], Batches: n[1], EventsLeft: n[2], BatchesLeft: n[3],
		Rates: Rates{EventsPerSecond: int(n[4]), BatchesPerSecond: int(n[5])},
	}, true
}
