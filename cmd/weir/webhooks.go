package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"weir/webhooks/signing"
)

type webhooksCmd struct {
	Listen webhooksListenCmd `cmd:"" help:"Receive deliveries on a local port, verify and print them: for writing receivers."`
}

// webhooksListenCmd is a receiver. It answers what it is told to, so that retries can be watched.
type webhooksListenCmd struct {
	Addr   string `help:"Address to listen on." default:"127.0.0.1:9000" placeholder:"ADDR"`
	Secret string `help:"The endpoint's secret, whsec_…; without it nothing is verified." env:"WEIR_WEBHOOK_SECRET" placeholder:"SECRET"`
	Status int    `help:"Status to answer verified deliveries with." default:"204"`
	JSON   bool   `help:"Print each delivery as one line of JSON." name:"json"`
}

// maxReceived bounds a delivery's body here; ours are far smaller.
const maxReceived = 16 << 20

// received is one delivery, as --json prints it.
type received struct {
	At       time.Time         `json:"at"`
	ID       string            `json:"id"`
	Verified bool              `json:"verified"`
	Problem  string            `json:"problem,omitempty"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"`
}

func (c *webhooksListenCmd) Run(ctx context.Context, t *terminal) error {
	if c.Status < 200 || c.Status > 599 {
		return usagef("--status is %d: give one from 200 to 599", c.Status)
	}
	var key signing.Key
	if c.Secret != "" {
		var err error
		if key, err = signing.ParseSecret(c.Secret); err != nil {
			return usagef("--secret: %v", err)
		}
	}
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("%w; name another address with --addr", err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.receive(t, w, r, key) }),
	}
	t.notef("Listening at http://%s; Ctrl-C ends it.\n", listen.Addr())
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listen); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (c *webhooksListenCmd) receive(t *terminal, w http.ResponseWriter, r *http.Request, key signing.Key) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReceived))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	got := received{At: time.Now().UTC(), ID: r.Header.Get(signing.HeaderID), Headers: map[string]string{}, Body: body}
	for name := range r.Header {
		got.Headers[name] = r.Header.Get(name)
	}
	if !json.Valid(body) {
		got.Body, _ = json.Marshal(string(body))
	}
	status := c.Status
	if c.Secret != "" {
		err := signing.Verify(r.Header, body, key, time.Now())
		got.Verified = err == nil
		if err != nil {
			got.Problem, status = err.Error(), http.StatusUnauthorized
		}
	}
	c.print(t, got)
	w.WriteHeader(status)
}

func (c *webhooksListenCmd) print(t *terminal, got received) {
	if c.JSON {
		if err := t.json(got); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	state := "not verified: give --secret"
	switch {
	case got.Problem != "":
		state = "REFUSED: " + got.Problem
	case got.Verified:
		state = "verified"
	}
	t.printf("%s  %s  %s\n%s\n", got.At.Format(time.RFC3339), got.ID, state, got.Body)
}
