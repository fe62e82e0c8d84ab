package console

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"weir/internal/httpapi"
)

// pageHeader must be on every request of the page that changes something: another site's form
// cannot set it, and its script only after a preflight that nobody here answers.
const pageHeader = "X-Weir-Console"

// sameOrigin refuses what another site made the browser ask. SameSite=Strict keeps the cookie
// from such requests already; this holds where a neighbour shares the site but not the origin.
func sameOrigin(r *http.Request) error {
	refused := httpapi.Errorf(httpapi.CodeForbidden, "this request did not come from the console's own pages")
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return refused
	}
	if safe(r.Method) {
		return nil
	}
	if r.Header.Get(pageHeader) == "" || !originIsHost(r) {
		return refused
	}
	return nil
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

// originIsHost compares without the scheme: behind a proxy that ends TLS this process does not know it.
func originIsHost(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && strings.EqualFold(origin.Host, r.Host)
}

// keepsCookies says whether a browser at this origin takes the session cookie: over https, or
// over http on the machine itself.
func keepsCookies(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil {
		return false
	}
	return origin.Scheme == "https" || loopback(origin.Hostname())
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && net.IP(addr.AsSlice()).IsLoopback()
}

// policy lets the page load nothing but this server's own files, and run no text as script or
// markup: what customers sent can only ever be shown.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		next.ServeHTTP(w, r)
	})
}
