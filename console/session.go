package console

import (
	"encoding/json"
	"net/http"
	"time"

	"weir/internal/httpapi"
)

// cookieName binds the cookie to this host and to secure connections: browsers take a __Host-
// cookie only with Secure, Path=/ and no Domain. Over plain http they keep it for loopback alone.
const cookieName = "__Host-weir"

// maxSignIn bounds the body of a sign-in.
const maxSignIn = 4 << 10

// session is what the cookie holds, sealed.
type session struct {
	Bearer  string `json:"b"`
	Expires int64  `json:"e"` // seconds since 1970
}

// session opens the request's cookie. A session without a known bearer (a revoked key, an admin
// token that was replaced) is none.
func (c *Console) session(r *http.Request) (session, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return session{}, false
	}
	plain, ok := c.cfg.Sealer.Open(cookie.Value)
	if !ok {
		return session{}, false
	}
	var s session
	if json.Unmarshal([]byte(plain), &s) != nil || c.now().Unix() >= s.Expires {
		return session{}, false
	}
	return s, true
}

// principal is the signed-in caller of a page; false: there is none.
func (c *Console) principal(r *http.Request) (httpapi.Principal, session, bool) {
	s, ok := c.session(r)
	if !ok {
		return httpapi.Principal{}, s, false
	}
	p, ok := c.cfg.Auth.Authenticate(s.Bearer)
	return p, s, ok
}

// who is the answer of GET and POST /console/session.
type who struct {
	SignedIn  bool      `json:"signed_in"`
	Admin     bool      `json:"admin"`
	ProjectID string    `json:"project_id,omitempty"`
	Scopes    []string  `json:"scopes"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (c *Console) getSession(w http.ResponseWriter, r *http.Request) {
	p, s, ok := c.principal(r)
	if !ok {
		w.Header().Set("Cache-Control", "no-store")
		httpapi.WriteJSON(w, http.StatusOK, map[string]bool{"signed_in": false})
		return
	}
	writeWho(w, p, s)
}

func writeWho(w http.ResponseWriter, p httpapi.Principal, s session) {
	w.Header().Set("Cache-Control", "no-store")
	httpapi.WriteJSON(w, http.StatusOK, who{true, p.Admin, p.ProjectID, p.Scopes.Names(), time.Unix(s.Expires, 0).UTC()})
}

// postSession signs in with {"token": an admin token or API key} or {"link": what a sign-in link held}.
func (c *Console) postSession(w http.ResponseWriter, r *http.Request) {
	p, s, err := c.admit(w, r)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	plain, err := json.Marshal(s)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	http.SetCookie(w, c.cookie(c.cfg.Sealer.Seal(string(plain)), int(c.cfg.SessionLife/time.Second)))
	c.log.InfoContext(r.Context(), "signed in to the console", "admin", p.Admin, "project", p.ProjectID, "key", p.KeyID)
	writeWho(w, p, s)
}

func (c *Console) admit(w http.ResponseWriter, r *http.Request) (httpapi.Principal, session, error) {
	var in struct {
		Token string `json:"token"`
		Link  string `json:"link"`
	}
	if err := sameOrigin(r); err != nil {
		return httpapi.Principal{}, session{}, err
	}
	if !keepsCookies(r) {
		return httpapi.Principal{}, session{}, httpapi.Errorf(httpapi.CodeForbidden,
			"signing in needs https: over plain http a browser keeps the session only on the machine itself. "+
				"Put TLS in front of Weir, or reach it through a tunnel as http://localhost")
	}
	if err := httpapi.DecodeJSON(w, r, maxSignIn, &in); err != nil {
		return httpapi.Principal{}, session{}, err
	}
	bearer := in.Token
	if in.Link != "" {
		var ok bool
		if bearer, ok = c.links.take(in.Link, c.now()); !ok {
			return httpapi.Principal{}, session{}, httpapi.Errorf(httpapi.CodeUnauthorized,
				"this sign-in link was used or is too old: sign in with the admin token, or start Weir again for a new link")
		}
	}
	p, ok := c.cfg.Auth.Authenticate(bearer)
	if !ok {
		return p, session{}, httpapi.Errorf(httpapi.CodeUnauthorized, "no such admin token or API key, or it was revoked")
	}
	return p, session{bearer, c.now().Add(c.cfg.SessionLife).Unix()}, nil
}

func (c *Console) deleteSession(w http.ResponseWriter, r *http.Request) {
	if err := sameOrigin(r); err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	http.SetCookie(w, c.cookie("", -1))
	w.WriteHeader(http.StatusNoContent)
}

func (c *Console) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: maxAge,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}
