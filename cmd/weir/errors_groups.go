package main

import (
	"context"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/control"
	"weir/eventlog"
	"weir/readmodel"
	"weir/readmodel/tables"
)

// startTriage wires decisions about error groups: control decides, the read model knows the groups.
func (p *portal) startTriage(r chi.Router, reader *readmodel.Reader) {
	control.NewTriage(control.NewCommands(p.directory), errorGroups{reader}).Routes(r)
}

// errorGroups shows the read model to triage as it wants to see it.
type errorGroups struct{ reader *readmodel.Reader }

// Find finds a group.
func (g errorGroups) Find(ctx context.Context, project, fingerprint string, folded eventlog.Positions) (control.ErrorGroup, error) {
	found, err := g.reader.FindGroup(ctx, project, fingerprint, folded)
	return control.ErrorGroup{ProjectID: found.ProjectID, Fingerprint: found.Fingerprint, Asked: found.Asked, Count: found.Count}, err
}

// listConns is enough for one list being made and the look for the next.
const listConns = 3

// startGroupLists keeps the lists of large projects' error groups, beside the projector.
func (p *portal) startGroupLists() error {
	conn, err := p.patientPool(listConns, readmodel.ListBuildTime)
	if err != nil {
		return err
	}
	lists := readmodel.NewGroupLists(readmodel.GroupListsConfig{
		Conn: conn, Lead: p.leadLists, Tables: tables.Options{Fsync: p.engine != nil}, Logger: p.logger, Registerer: p.registry,
	})
	p.run("error group lists", func(ctx context.Context) error {
		if !p.awaitDatabase(ctx) {
			return nil
		}
		return lists.Run(ctx)
	})
	return nil
}

// leadLists runs keep in one process at a time: the one that owns the only partition of
// weir.control in a group made for that. It goes on trying until ctx ends.
func (p *portal) leadLists(ctx context.Context, keep func(context.Context) error) error {
	for ctx.Err() == nil {
		if err := p.leadListsOnce(ctx, keep); err != nil && ctx.Err() == nil {
			p.logger.Warn("the lists of error groups are kept by nobody or by another process; trying again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(listsRetry):
			}
		}
	}
	return nil
}

const listsRetry = 5 * time.Second

func (p *portal) leadListsOnce(ctx context.Context, keep func(context.Context) error) error {
	m, err := p.log.Join(ctx, "weir.error_group_list.lead", []string{eventlog.ControlTopic})
	if err != nil {
		return err
	}
	defer func() {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime/4)
		defer cancel()
		_ = m.Close(leave) // one that cannot say goodbye is forgotten by its group
	}()
	for {
		a, err := m.Next(ctx)
		if err != nil {
			return err
		}
		if len(a.Partitions) == 0 {
			continue // somebody else leads; Next returns when that changes
		}
		leading, stop := context.WithCancel(ctx)
		unhook := context.AfterFunc(a.Context(), stop)
		_ = keep(leading) // it ends with the lead, without an error
		unhook()
		stop()
	}
}
