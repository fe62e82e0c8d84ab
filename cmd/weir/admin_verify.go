package main

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/projections"
)

// verifyItem is a verification under way or the last one of a projection.
type verifyItem = checkItem[projections.Verification]

const checkVerify = "verification"

func (c *checks) postVerify(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	if _, err := c.portal.monitor.Progress(name); err != nil {
		httpapi.WriteError(w, r, rebuildError(err))
		return
	}
	c.post(w, r, checkName{checkVerify, name}, func(ctx context.Context, progress func(done, of int64)) (any, error) {
		result, err := c.tool.Verify(ctx, name, progress)
		if err == nil && !result.Equal {
			c.portal.logger.Error("read model differs from the log", "projection", name, "differences", result.Differences.String())
		}
		return result, err
	})
}

func (c *checks) getVerify(w http.ResponseWriter, r *http.Request) {
	c.get(w, r, checkName{checkVerify, chi.URLParam(r, "name")})
}
