package readmodel

import (
	"context"
	"errors"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"weir/internal/httpapi"
)

// retryAfter is what a client is told to wait when the read model does not answer.
const retryAfter = 2 * time.Second

// Codes of ClickHouse that say the query asked for too much, not that the server is in trouble.
const (
	codeTooManyRows    = 158
	codeTimeout        = 159
	codeTooSlow        = 160
	codeMemoryLimit    = 241
	codeTooManyResults = 396
)

const codeUnknownTable = 60

// Codes that mean the server cannot serve now: its tables are not made yet, it
// is starting or overloaded. Everything else it can object to is a fault of ours.
var notNow = map[int32]bool{
	codeUnknownTable: true, 81: true, // unknown table, database
	202: true, 203: true, // too many queries
	209: true, 210: true, // socket timeout, network error
	225: true, 236: true, 394: true, // shutting down, aborted, query was cancelled
	242: true, 243: true, // read only, no space
	516: true, // authentication failed
}

// queryError turns the outcome of a query into what the client is answered.
// What ClickHouse said stays the wrapped cause, for the log.
func queryError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var known *httpapi.Error
	if errors.As(err, &known) {
		return err
	}
	var ex *clickhouse.Exception
	if !errors.As(err, &ex) {
		if errors.Is(err, context.DeadlineExceeded) {
			return tooMuch(err)
		}
		return unavailable(err)
	}
	switch ex.Code {
	case codeTimeout, codeTooSlow, codeTooManyRows, codeTooManyResults, codeMemoryLimit:
		return tooMuch(err)
	}
	if notNow[ex.Code] {
		return unavailable(err)
	}
	return err
}

func unavailable(cause error) error {
	return httpapi.Errorf(httpapi.CodeNoReadModel, "the read model does not answer; nothing is lost: retry").
		After(retryAfter).Because(cause)
}

func tooMuch(cause error) error {
	return httpapi.Errorf(httpapi.CodeNoReadModel, "the query took more time or memory than it may; narrow its range or filters, or retry").
		After(retryAfter).Because(cause)
}
