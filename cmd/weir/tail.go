package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/client"
)

type tailCmd struct {
	Server  string `help:"Address of the server (${default})." env:"WEIR_SERVER" default:"http://127.0.0.1:8080" placeholder:"URL"`
	Key     string `help:"API key with the read scope." env:"WEIR_API_KEY" required:"" placeholder:"KEY"`
	Project string `help:"Project, when the key is the admin token." placeholder:"prj_…"`
	Type    string `help:"Only events of this type."`
	Q       string `name:"q" help:"Only events whose data holds this text."`
	JSON    bool   `name:"json" help:"Print each event as one line of JSON."`
}

// maxEvent bounds one line of the stream: an event is never larger than a batch.
const maxEvent = 8 << 20

func (c *tailCmd) Run(ctx context.Context, t *terminal) error {
	query := url.Values{}
	for name, value := range map[string]string{"project_id": c.Project, "type": c.Type, "q": c.Q} {
		if value != "" {
			query.Set(name, value)
		}
	}
	stream, err := c.open(ctx, t, query)
	if err != nil {
		return err
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		if err := c.print(t, strings.TrimSpace(data)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // Ctrl-C is how a tail ends
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the stream broke off: %w", err)
	}
	return errors.New("the server ended the stream; run the command again to go on")
}

// openPatience is how long a server that is starting, or whose read models are being made, is asked again.
const openPatience = time.Minute

func (c *tailCmd) open(ctx context.Context, t *terminal, query url.Values) (io.ReadCloser, error) {
	server, deadline := client.New(c.Server, c.Key), time.Now().Add(openPatience)
	for {
		stream, err := server.Stream(ctx, "/api/events/tail", query)
		var problem *client.Problem
		if !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return stream, err
		}
		t.notef("%v; again in a second\n", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

func (c *tailCmd) print(t *terminal, event string) error {
	if c.JSON {
		t.printf("%s\n", event)
		return nil
	}
	var e struct {
		Type string          `json:"type"`
		TS   string          `json:"ts"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal([]byte(event), &e); err != nil || e.Type == "" {
		return nil // a heartbeat or a notice, not an event
	}
	t.printf("%s  %-12s %s\n", e.TS, e.Type, e.Data)
	return nil
}
