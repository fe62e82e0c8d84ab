package main

import (
	"context"
	"errors"

	"weir/eventlog"
	"weir/internal/httpapi"
	"weir/projections/errorgroups/grouping"
	"weir/readmodel"
	"weir/schemas"
	"weir/webhooks"
)

// Some notices tell what one event alone does not show: that a resolved error group
// was seen again, or that a month's costs went over a budget. The events still give
// the reason; whether it is so is asked of the read model, folded past the event, so
// that a notice says what the API shows. This runs in the role read, which has it.

// startStateNotices decides them.
func (p *portal) startStateNotices(reader *readmodel.Reader) error {
	chosen, err := grouping.Lookup(grouping.Algorithm)
	if err != nil {
		return err
	}
	resolved := newResolutions(p.log, chosen, reader)
	p.run("resolutions", resolved.follow)
	budgets := overBudgets{p.directory, reader}
	noticer := webhooks.NewNoticer(webhooks.NoticerConfig{
		Log: p.log, Directory: targets{p.directory}, Logger: p.logger,
		Group: webhooks.StatesGroup, Told: webhooks.StatesTopic,
		Topics: []string{eventlog.EventsTopic(schemas.Error), eventlog.EventsTopic(schemas.Cost)},
		Read: func(r *eventlog.Record) []webhooks.Notice {
			if r.Topic == eventlog.EventsTopic(schemas.Cost) {
				return budgets.read(r)
			}
			return resolved.read(r)
		},
		Ready: func(ctx context.Context) error { return p.controlFolded(ctx, resolved) },
	})
	p.run("notices of states", noticer.Run)
	return nil
}

// controlFolded returns once everything that is in the control log now is known here.
func (p *portal) controlFolded(ctx context.Context, resolved *resolutions) error {
	bounds, err := p.log.Bounds(ctx, eventlog.ControlTopic)
	if err != nil {
		return err
	}
	if err := p.directory.Wait(ctx, bounds[0].End); err != nil {
		return err
	}
	return resolved.wait(ctx, bounds[0].End)
}

// folded is the position after a record.
func folded(r *eventlog.Record) eventlog.Position {
	return eventlog.Position{Topic: r.Topic, Partition: r.Partition, Next: r.Offset + 1}
}

func isNotFound(err error) bool {
	var e *httpapi.Error
	return errors.As(err, &e) && e.Code == httpapi.CodeNotFound
}
