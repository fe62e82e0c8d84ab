package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/client"
	"weir/projections"
)

type proveCmd struct {
	remote
	Project string        `help:"Project whose events are counted." required:"" placeholder:"ID"`
	From    time.Time     `help:"Events received from this time on; from the first one when not given." format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME"`
	To      time.Time     `help:"Events received before this time; all when not given." format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME"`
	Wait    time.Duration `help:"How long to wait for read models that are behind the log (${default})." default:"30s"`
}

// Help says what is compared and what not.
func (proveCmd) Help() string {
	return "The log is counted by itself, without the folds: what each event must have made of each read model's tables is compared with the rows that are there, " +
		"records in quarantine apart. So is what idempotency keys were answered. Sums (cost_rollups, error_groups, …) do not tell when their events were received: they " +
		"are compared over all of the project's events. Times are RFC 3339, by the gateways' clocks. Exit code 1 when anything differs or is not folded yet. " +
		"`weir verify NAME` compares content, row for row."
}

func (c *proveCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	in := proveRequest{}
	if !c.From.IsZero() {
		in.From = &c.From
	}
	if !c.To.IsZero() {
		in.To = &c.To
	}
	seconds := c.Wait.Seconds()
	in.WaitSeconds = &seconds
	item, err := awaitCheck[projections.Proof](ctx, t, server, "/api/projects/"+url.PathEscape(c.Project)+"/prove", "prove "+c.Project, in)
	if err != nil {
		return err
	}
	if c.JSON {
		err = t.json(item.Result)
	} else {
		err = t.proof(item.Result)
	}
	if err == nil && !item.Result.Equal {
		return fmt.Errorf("%s: the read models do not hold what was accepted", c.Project)
	}
	return err
}

// awaitCheck begins a check and follows it to its end.
func awaitCheck[R any](ctx context.Context, t *terminal, server *client.Client, path, what string, in any) (checkItem[R], error) {
	var item checkItem[R]
	if err := server.Call(ctx, http.MethodPost, path, nil, in, &item); err != nil {
		return item, err
	}
	show := newCounter(t, what)
	defer show.done()
	poll := time.NewTicker(300 * time.Millisecond)
	defer poll.Stop()
	for item.State == checkRunning {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return item, ctx.Err()
		}
		if err := server.Call(ctx, http.MethodGet, path, nil, nil, &item); err != nil {
			return item, err
		}
		seconds := time.Since(item.StartedAt).Seconds()
		if rate := float64(item.Folded) / max(seconds, 0.1); rate > 0 {
			show.set(item.Folded, item.Of, rate, float64(item.Of-item.Folded)/rate)
		}
	}
	if item.State != checkDone || item.Result == nil {
		return item, fmt.Errorf("it failed: %s", item.Failure)
	}
	return item, nil
}

// proof prints a line per type and table.
func (t *terminal) proof(p *projections.Proof) error {
	accepted := map[string]int64{}
	var all int64
	for _, a := range p.Accepted {
		accepted[a.Topic] = a.Events
		all += a.Events
	}
	t.printf("%d events accepted, by the log at %s\n", all, p.Position)
	if r := p.Receipts; r != nil {
		t.printf("%d of %d events of %d batches with idempotency keys are in the log\n", r.InLog, r.Accepted, r.Batches)
		for _, short := range r.Short {
			t.printf("  %s\n", short)
		}
	}
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	row(w, "TYPE", "ACCEPTED", "READ MODEL", "TABLE", "OF", "EXPECTED", "QUARANTINED", "ROWS", "")
	for _, l := range p.Lines {
		if l.Expected == 0 && l.Rows == 0 && l.Quarantined == 0 && l.Difference == "" {
			continue
		}
		verdict := "ok"
		if l.Difference != "" {
			verdict = "DIFFERENT: " + l.Difference
		}
		row(w, strings.TrimPrefix(l.Topic, "weir.events."), fmt.Sprint(accepted[l.Topic]), l.Projection, l.Table, l.Scope,
			fmt.Sprint(l.Expected), fmt.Sprint(l.Quarantined), fmt.Sprint(l.Rows), verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, b := range p.Behind {
		t.printf("NOT FOLDED: %s has %d records of %s partition %d to fold\n", b.Projection, b.End-b.Folded, b.Topic, b.Partition)
	}
	return nil
}
