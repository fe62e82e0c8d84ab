package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/client"
)

type quarantineCmd struct {
	List  quarantineListCmd  `cmd:"" help:"List records that read models could not fold, with the reason."`
	Retry quarantineRetryCmd `cmd:"" help:"Fold records in quarantine again, after a fix."`
}

type quarantineListCmd struct {
	remote
	Name  string `arg:"" optional:"" help:"Projection, as doctor lists them: history, errorgroups, …; all of them when not given."`
	Limit int    `help:"How many records of each projection, the newest, from 1 to 200 (${default})." default:"50"`
}

// Help says what there is to do about it.
func (quarantineListCmd) Help() string {
	return "The log still has every one of these records whole; only these read models go without them. " +
		"After a fix, `weir quarantine retry NAME` folds them again and marks them as retried; of a fold with a new version, or after `weir rebuild NAME`, what it can take is no longer listed."
}

// quarantined is an item of GET /api/projections/{name}/quarantine.
type quarantined struct {
	Projection   string    `json:"projection"`
	Topic        string    `json:"topic"`
	Partition    int       `json:"partition"`
	Offset       int64     `json:"offset"`
	ProjectID    *string   `json:"project_id"`
	Reason       string    `json:"reason"`
	Payload      string    `json:"payload"`
	PayloadBytes int64     `json:"payload_bytes"`
	ReceivedAt   time.Time `json:"received_at"`
	Generation   int       `json:"generation"`
	Retry        *struct {
		State   string    `json:"state"`
		Attempt int       `json:"attempt"`
		At      time.Time `json:"at"`
		Reason  *string   `json:"reason"`
	} `json:"retry"`
}

// retry is its state, for the table.
func (q quarantined) retry() string {
	if q.Retry == nil {
		return "-"
	}
	return q.Retry.State
}

func (c *quarantineListCmd) Run(ctx context.Context, t *terminal) error {
	server, err := c.admin()
	if err != nil {
		return err
	}
	names := []string{c.Name}
	if c.Name == "" {
		names = nil
		for _, p := range allProjections() {
			names = append(names, p.Name)
		}
	}
	records := []quarantined{}
	for _, name := range names {
		page, err := c.newest(ctx, server, name)
		if err != nil {
			return fmt.Errorf("quarantine of %s: %w", name, err)
		}
		records = append(records, page.Data...)
		if page.Next != nil {
			t.notef("%s has more than these %d in quarantine; docs/operations.md says how to count them\n", name, len(page.Data))
		}
	}
	if c.JSON {
		return t.json(records)
	}
	return t.quarantine(records)
}

type quarantinePage struct {
	Data []quarantined `json:"data"`
	Next *string       `json:"next_cursor"` // null on the last page
}

// newest is one page and no more: a sender gone wrong can fill millions.
func (c *quarantineListCmd) newest(ctx context.Context, server *client.Client, name string) (page quarantinePage, err error) {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	err = server.Call(ctx, http.MethodGet, "/api/projections/"+url.PathEscape(name)+"/quarantine", query, nil, &page)
	return page, err
}

// quarantine prints a line per record, and what can be done about them.
func (t *terminal) quarantine(records []quarantined) error {
	if len(records) == 0 {
		t.notef("Nothing is in quarantine, so there is nothing to retry. (What ever is, is retried after a fix with weir quarantine retry: see --help.)\n")
		return nil
	}
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	row(w, "PROJECTION", "TOPIC", "PARTITION", "OFFSET", "RECEIVED", "BYTES", "RETRY", "REASON", "PAYLOAD")
	var names []string
	for _, r := range records {
		if !slices.Contains(names, r.Projection) {
			names = append(names, r.Projection)
		}
		row(w, r.Projection, r.Topic, fmt.Sprint(r.Partition), fmt.Sprint(r.Offset), r.ReceivedAt.Format(time.RFC3339),
			fmt.Sprint(r.PayloadBytes), r.retry(), quotedStart(r.Reason, 120), quotedStart(r.Payload, 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t.notef("The log still has these records. After a fix, retry them with: weir quarantine retry %s\nOr fold everything anew with: weir rebuild %s\n",
		strings.Join(names, "; weir quarantine retry "), strings.Join(names, "; weir rebuild "))
	return nil
}

// quotedStart is the start of what a stranger wrote: one line, with nothing in it that a terminal would obey.
func quotedStart(s string, most int) string {
	runes := []rune(s)
	if len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return fmt.Sprintf("%q", s)
}
