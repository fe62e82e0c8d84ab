// Package console serves the portal's web page: a server-rendered shell, plain ES modules and
// styles, all embedded, so that the binary needs nothing beside it at run time.
//
// The page talks to the public HTTP API only. A browser holds no bearer: signing in puts the
// bearer, sealed, into a cookie that scripts cannot read, and what the page asks for below
// /console/api is passed on to /api in this process with the bearer put back (Wrap). The API
// itself knows no cookie, so that no other site can use one against it.
package console
