// Package httpapi is what every HTTP endpoint of the portal shares: who is
// calling (Principal, scopes, bearer keys), how an error is answered (one
// table from error code to status, RFC 9457 problem documents), how lists are
// paged, how a request is decoded strictly, and the middleware that gives each
// request an id, a log line and its metrics.
//
// It knows no domain. Packages that serve HTTP import it; it imports none of them.
package httpapi
