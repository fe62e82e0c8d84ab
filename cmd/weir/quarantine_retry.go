package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

type quarantineRetryCmd struct {
	remote
	Name      string `arg:"" help:"Projection, as doctor lists them: history, errorgroups, …"`
	Topic     string `help:"Only records of this topic." placeholder:"TOPIC"`
	Partition *int   `help:"Only records of this partition." placeholder:"N"`
	Offset    *int64 `help:"Only the record at this offset." placeholder:"N"`
	Project   string `help:"Only records of this project." placeholder:"ID"`
	Reason    string `help:"Only records whose reason has this in it." placeholder:"TEXT"`
	NoWait    bool   `help:"Ask and return; do not wait for the end."`
}

// Help says what a retry is, and what it is not.
func (quarantineRetryCmd) Help() string {
	return "Each record is folded again by the running version, alone, and inserted exactly once, whatever is killed on the way. What it takes is marked as retried and counts as folded; " +
		"what it refuses stays in quarantine with the new reason, and the exit code is 1. Records are taken one by one: for very many, or when the fix changes how other " +
		"records fold, use `weir rebuild NAME`."
}

func (c *quarantineRetryCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	path := "/api/projections/" + url.PathEscape(c.Name) + "/quarantine/retry"
	in := retryRequest{Topic: c.Topic, Partition: c.Partition, Offset: c.Offset, ProjectID: c.Project, Reason: c.Reason}
	var a retryAnswer
	if err := server.Call(ctx, http.MethodPost, path, nil, in, &a); err != nil {
		return err
	}
	asked := a.AskedFor
	show := newCounter(t, "retry "+c.Name)
	defer show.done()
	poll := time.NewTicker(300 * time.Millisecond)
	defer poll.Stop()
	for began := time.Now(); a.Asked > 0 && !c.NoWait; {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("no longer waiting; the retry goes on, weir quarantine list shows how far it is")
		}
		if err := server.Call(ctx, http.MethodGet, path, nil, nil, &a); err != nil {
			return err
		}
		done := max(0, asked-int64(a.Asked))
		if rate := float64(done) / time.Since(began).Seconds(); rate > 0 {
			show.set(done, asked, rate, float64(a.Asked)/rate)
		}
	}
	a.AskedFor = asked
	if c.JSON {
		err = t.json(a)
	} else {
		t.printf("%s: %d asked for; of generation %d, %d retried, %d refused, %d in doubt, %d under way, %d never asked for\n",
			a.Projection, asked, a.Generation, a.Retried, a.Refused, a.InDoubt, a.Asked, a.Open)
	}
	if err == nil && !c.NoWait && a.Refused+a.InDoubt > 0 {
		return fmt.Errorf("%d records of %s are still in quarantine; weir quarantine list %s says why", a.Refused+a.InDoubt, a.Projection, a.Projection)
	}
	return err
}
