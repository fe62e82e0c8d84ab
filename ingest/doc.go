// Package ingest is the door: POST /api/ingest. It checks a signed batch and
// appends its valid events to the log, and answers 200 only after the log has
// acknowledged every one of them.
//
// One file is one stage, in the order in which a request meets them; the first
// fault decides the answer:
//
//	authenticate.go   401            who is it
//	admit.go          400 413 503    content type, announced length, room for it
//	body.go           413 503        read, not too much and not too slowly
//	signature.go      403            HMAC-SHA256 over the bytes as sent
//	idempotency.go    200 400 503    a repeated key gets its first answer
//	limit.go          429            the project's rates
//	unpack.go         400 413        gzip, zstd
//	decode.go         400            strict JSON; a bad event is rejected alone
//	append.go         503            one set per type, in parallel
//	answer.go         200
//
// POST /api/errors/capture (capture.go) is the same door for a single exception:
// the same stages but the signature, and the event they append is the one that a
// batch would have carried.
//
// Its rooms: receipts (one effect per idempotency key, through the log) and
// limits (the rates of a project). The package declares what it needs of the
// log and of the directory of projects; cmd/weir joins them.
package ingest
