package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/control"
	"weir/internal/httpapi"
)

// startDirectory folds the control log and waits until this process knows every key there is.
func (p *portal) startDirectory(ctx context.Context) error {
	directory, err := control.NewDirectory(control.Config{
		Log: p.log, Keyring: p.keys.keyring, AdminToken: p.keys.admin, Logger: p.logger, Registerer: p.registry,
	})
	if err != nil {
		return err
	}
	p.directory = directory
	p.run("directory", directory.Run)
	select {
	case <-directory.Ready():
	case <-p.failed.Done():
		return context.Cause(p.failed)
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.checkMasterKey(); err != nil {
		return err
	}
	p.ready.add("control log", func() error {
		if silence := directory.Silence(); silence > silenceBound {
			return fmt.Errorf("not heard from for %v: revoked keys may not be known here", silence.Round(time.Second))
		}
		return nil
	})
	return nil
}

// silenceBound is how long the control log may be unreachable before the process says it is not ready.
const silenceBound = 30 * time.Second

// startRoles wires every role of this process behind one router and lets requests in.
func (p *portal) startRoles(context.Context) error {
	r := chi.NewRouter()
	p.observer = httpapi.NewObserver(p.logger, p.registry)
	r.Use(p.observer.Middleware)
	r.NotFound(httpapi.NotFoundHandler)
	r.MethodNotAllowed(httpapi.MethodNotAllowedHandler)
	r.Get("/livez", live)
	r.Method(http.MethodGet, "/readyz", p.ready)
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{}))

	failed := []error{p.startOpenAPI(r)}
	if p.cfg.has(roleIngest) {
		failed = append(failed, p.startIngest(r))
	}
	if p.cfg.has(roleProject) {
		failed = append(failed, p.startProject())
	}
	if p.cfg.has(roleDeliver) {
		failed = append(failed, p.startDeliver())
	}
	if p.cfg.has(roleRead) {
		failed = append(failed, p.startRead(r))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	p.openDoors(p.doors(batchesFirst(p.ingestDoor, r)))
	return nil
}

// awaitIngest waits until the gateway has read the receipts, so that "serving" means it.
func (p *portal) awaitIngest(ctx context.Context) error {
	if p.ingestReady == nil {
		return nil
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for p.ingestReady() != nil {
		select {
		case <-poll.C:
		case <-p.failed.Done():
			return context.Cause(p.failed)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
