// Package readmodel is the read side of the portal: one struct per query that
// turns into SQL and arguments, and the HTTP endpoints over them.
//
// A query is a value. Its statement method builds the SQL from constants of
// this package only; whatever a client sent travels as a ClickHouse query
// parameter and is never text of the statement. Each query names its project
// in the first condition, so that the sort keys of the tables (sub-package
// tables) are used and projects stay walls.
//
// Lists page by key, never by offset: a cursor holds the sort key of the last
// row that was given, so rows that arrive meanwhile move nothing. Every query
// runs read-only, with bounds on time, rows and memory, under the request's
// context. When ClickHouse does not answer, the client gets 503
// read_model_unavailable and the cause goes to the log.
package readmodel
