package ingest

import "weir/internal/httpapi"

// authenticate finds the project the bearer key belongs to. The answer does not
// tell which part of a key was wrong.
func (q *request) authenticate() error {
	bearer, ok := httpapi.Bearer(q.r)
	if !ok {
		return httpapi.Unauthorized()
	}
	caller, ok := q.h.cfg.Directory.Lookup(bearer)
	if !ok || caller.ProjectID == "" {
		return httpapi.Unauthorized()
	}
	q.caller, q.rates, q.maxBytes = caller, q.h.cfg.rates(&caller), q.h.cfg.batchBytes(&caller)
	httpapi.NotePrincipal(q.r.Context(), httpapi.Principal{ProjectID: caller.ProjectID, KeyID: caller.KeyID})
	if !caller.MayIngest {
		return httpapi.Errorf(httpapi.CodeForbidden, `this key lacks the scope "ingest": use a key that has it`)
	}
	return nil
}
