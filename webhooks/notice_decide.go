package webhooks

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"weir/eventlog"
)

// reason is a notice and the event that gives reason for it.
type reason struct {
	record *eventlog.Record
	Notice
}

// notice finds what records give reason to tell, claims what is told only once,
// then decides what is owed.
func (n *Noticer) notice(ctx context.Context, records []eventlog.Record, decided map[[16]byte]bool) error {
	if n.cfg.Ready != nil && len(records) > 0 {
		if err := n.cfg.Ready(ctx); err != nil {
			return fmt.Errorf("%w: %w", errCheck, err)
		}
	}
	var reasons []reason
	for i := range records {
		for _, notice := range n.cfg.Read(&records[i]) {
			reasons = append(reasons, reason{&records[i], notice})
		}
	}
	reasons, err := n.check(ctx, reasons)
	if err != nil {
		return err
	}
	if err := n.claim(ctx, reasons); err != nil {
		return err
	}
	for _, r := range reasons {
		if r.First != ([16]byte{}) && !n.firsts.is(r.First, r.record) {
			continue
		}
		if err := n.owe(ctx, r, decided); err != nil {
			return err
		}
	}
	return nil
}

// check drops what is not so. A thing that nobody has claimed is asked about with
// the last of its events, one that is claimed only with the event that claims it:
// its notice may not have been decided before a crash.
func (n *Noticer) check(ctx context.Context, reasons []reason) ([]reason, error) {
	last := map[[16]byte]int{}
	for i, r := range reasons {
		if r.Check != nil {
			last[r.First] = i
		}
	}
	kept := reasons[:0]
	for i, r := range reasons {
		if r.Check == nil {
			kept = append(kept, r)
			continue
		}
		if n.firsts.known(r.First) && !n.firsts.is(r.First, r.record) || !n.firsts.known(r.First) && last[r.First] != i {
			continue
		}
		payload, so, err := r.Check(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errCheck, err)
		}
		if so {
			r.Payload = payload
			kept = append(kept, r)
		}
	}
	return kept, nil
}

func (n *Noticer) owe(ctx context.Context, r reason, decided map[[16]byte]bool) error {
	id := text16(r.record.EventID())
	o := Occasion{Project: string(r.record.Key), Type: r.Type, Payload: r.Payload, At: r.record.Time, Existing: true,
		Cause: "event:" + id, EventIDs: []string{id}}
	if r.Check != nil { // one event can be the reason of several
		o.Cause += ":" + text16(r.First)
	}
	rec := n.decider.decide(o)
	set := n.decider.set(rec)
	if len(rec.Owed) == 0 || decided[set.Batch] {
		return nil
	}
	n.cfg.step("deciding")
	if err := n.writer.once(ctx, OwedTopic, set); err != nil {
		return err
	}
	decided[set.Batch] = true
	n.decider.announce(ctx, rec)
	return nil
}

// claim appends the firsts that nobody has claimed, and waits until this process
// has read them back: of two claims the one that is first in the log holds.
func (n *Noticer) claim(ctx context.Context, reasons []reason) error {
	var values [][]byte
	claimed := map[[16]byte]bool{}
	for _, r := range reasons {
		if r.First == ([16]byte{}) || claimed[r.First] || n.firsts.known(r.First) {
			continue
		}
		claimed[r.First] = true
		id := r.record.EventID()
		values = append(values, append(append([]byte(nil), r.First[:]...), id[:]...))
	}
	if len(values) == 0 {
		return nil
	}
	n.cfg.step("claiming")
	first, err := n.cfg.Log.Append(ctx, n.cfg.Told, 0, eventlog.Set{Key: reasons[0].record.Key, Batch: digest("firsts", randomID()), Time: time.Now(), Values: values})
	if err != nil {
		return err // claiming again is harmless: the first claim holds
	}
	n.cfg.step("claimed")
	return n.firsts.wait(ctx, first+int64(len(values)))
}

func text16(id [16]byte) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, 32)
	for _, c := range id {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return string(b)
}

// short is enough to tell events apart that claim the same thing.
func short(id [16]byte) uint64 { return binary.BigEndian.Uint64(id[:8]) }
