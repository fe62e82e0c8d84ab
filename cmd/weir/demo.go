package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"weir/control"
	"weir/internal/httpapi"
)

// startDemo makes the demo project at the first start and prints lines to paste at every one.
// Its key and secret are kept in the data folder, like the admin token, so that a restart can
// print them again.
func (p *portal) startDemo(ctx context.Context) error {
	if !p.cfg.Demo {
		return nil
	}
	demo, err := p.demoProject(ctx)
	if err != nil {
		return err
	}
	p.terminal.printf(demoText, p.url(), demo.ProjectID, p.signInLink(), demoSend(p.url(), demo), demoRead(p.url(), demo))
	return nil
}

func (p *portal) demoProject(ctx context.Context) (created, error) {
	path := p.dir.Path("demo.json")
	demo, err := readDemo(path)
	if err != nil {
		return demo, err
	}
	if caller, ok := p.directory.Lookup(demo.APIKey); ok && caller.ProjectID == demo.ProjectID {
		return demo, nil
	}
	made, err := control.NewCommands(p.directory).CreateProject(ctx, httpapi.Principal{Admin: true}, "demo")
	if err != nil {
		return demo, err
	}
	demo = created{made.Project.ID, made.APIKey.Reveal(), made.WebhookSecret.Reveal()}
	raw, err := json.Marshal(demo)
	if err != nil {
		return demo, err
	}
	return demo, os.WriteFile(path, raw, 0o600)
}

// readDemo gives the zero value when there is no demo project yet.
func readDemo(path string) (created, error) {
	var demo created
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return demo, nil
	}
	if err != nil {
		return demo, err
	}
	if err := json.Unmarshal(raw, &demo); err != nil {
		return demo, fmt.Errorf("%s cannot be read (%w): remove it, and a new demo project is made", path, err)
	}
	return demo, nil
}

const demoText = `
Weir listens at %s; demo project %s.

Open the console, signed in (this link works once, within the hour):

%s

Send signed events:

%s

Read them back:

%s

Ctrl-C ends it; what was accepted is kept and is there at the next start.

`

func demoSend(url string, demo created) string {
	return `now=$(date -u +%Y-%m-%dT%H:%M:%SZ); ` +
		`body='{"events":[{"type":"log","ts":"'$now'","data":{"level":"info","message":"hello, weir"}},` +
		`{"type":"error","ts":"'$now'","data":{"name":"TimeoutError","message":"upstream took 3001 ms","release":"1.4.2","environment":"demo"}},` +
		`{"type":"cost","ts":"'$now'","data":{"provider":"aws","service":"s3","region":"eu-west-1","amount":12.30,"currency":"EUR","period":"'${now%%-??T*}'"}}]}'; ` +
		`curl -sS ` + url + `/api/ingest -H 'Authorization: Bearer ` + demo.APIKey + `' -H 'Content-Type: application/json' ` +
		`-H "X-Service-Signature: $(printf %s "$body" | openssl dgst -sha256 -hmac '` + demo.WebhookSecret + `' -r | cut -d' ' -f1)" --data-binary "$body"; echo`
}

func demoRead(url string, demo created) string {
	return `curl -sS '` + url + `/api/events?limit=5' -H 'Authorization: Bearer ` + demo.APIKey + `'; echo`
}
