package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/openapi"
)

// startOpenAPI serves the description of the API and keeps the router, so that a test can compare the two.
func (p *portal) startOpenAPI(r chi.Router) error {
	document, err := openapi.Handler(version())
	if err != nil {
		return err
	}
	r.Method(http.MethodGet, "/api/openapi.json", document)
	p.router = r
	return nil
}
