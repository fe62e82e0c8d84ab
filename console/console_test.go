package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/console"
	"weir/internal/httpapi"
)

const theToken = "admin-token-for-tests"

// keys knows one bearer, until it is revoked.
type keys struct{ revoked bool }

func (k *keys) Authenticate(bearer string) (httpapi.Principal, bool) {
	return httpapi.Principal{Admin: true}, bearer == theToken && !k.revoked
}

// plainly is a Sealer that seals nothing but its own mark, and opens only that.
type plainly struct{}

func (plainly) Seal(plain string) string { return "sealed." + hexed(plain) }

func (plainly) Open(sealed string) (string, bool) {
	text, ok := strings.CutPrefix(sealed, "sealed.")
	return unhexed(text), ok
}

func hexed(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteByte("0123456789abcdef"[c>>4])
		b.WriteByte("0123456789abcdef"[c&15])
	}
	return b.String()
}

func unhexed(s string) string {
	var b strings.Builder
	for i := 0; i+1 < len(s); i += 2 {
		b.WriteByte(byte(strings.IndexByte("0123456789abcdef", s[i])<<4 | strings.IndexByte("0123456789abcdef", s[i+1])))
	}
	return b.String()
}

// portal is a console before an API that says what reached it.
func portal(t *testing.T) (*console.Console, *keys, *httptest.Server) {
	t.Helper()
	k := &keys{}
	c, err := console.New(console.Config{Auth: k, Sealer: plainly{}, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	c.Routes(r)
	r.HandleFunc("/api/*", func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := httpapi.Bearer(r)
		if _, ok := k.Authenticate(bearer); !ok {
			httpapi.WriteError(w, r, httpapi.Unauthorized())
			return
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" cookie="+r.Header.Get("Cookie"))
	})
	s := httptest.NewServer(c.Wrap(r))
	t.Cleanup(s.Close)
	return c, k, s
}

type ask struct {
	method, path, body string
	header             map[string]string
	cookie             *http.Cookie
}

func do(t *testing.T, s *httptest.Server, a ask) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(a.method, s.URL+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range a.header {
		r.Header.Set(name, value)
	}
	if a.cookie != nil {
		r.AddCookie(a.cookie)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// ours are the headers of the page's own scripts.
func ours(s *httptest.Server) map[string]string {
	return map[string]string{"X-Weir-Console": "1", "Origin": s.URL, "Sec-Fetch-Site": "same-origin"}
}

func signIn(t *testing.T, s *httptest.Server, body string) *http.Cookie {
	t.Helper()
	resp, text := do(t, s, ask{method: "POST", path: "/console/session", body: body, header: ours(s)})
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("signing in: %d %s", resp.StatusCode, text)
	}
	cookie := resp.Cookies()[0]
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("the cookie is %+v", cookie)
	}
	if strings.Contains(cookie.Value, theToken) || strings.Contains(text, theToken) {
		t.Error("the token can be read")
	}
	return cookie
}

func TestASessionReachesTheAPIAsItsBearer(t *testing.T) {
	_, k, s := portal(t)
	cookie := signIn(t, s, `{"token":"`+theToken+`"}`)

	resp, text := do(t, s, ask{method: "GET", path: "/console/api/events?q=a%2Fb", cookie: cookie})
	if resp.StatusCode != 200 || text != "GET /api/events?q=a%2Fb cookie=" {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	resp, text = do(t, s, ask{method: "POST", path: "/console/api/projects", cookie: cookie, header: ours(s)})
	if resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, _ = do(t, s, ask{method: "GET", path: "/api/events", cookie: cookie}); resp.StatusCode != 401 {
		t.Errorf("the API took a cookie: %d", resp.StatusCode)
	}
	k.revoked = true
	if resp, _ = do(t, s, ask{method: "GET", path: "/console/api/events", cookie: cookie}); resp.StatusCode != 401 {
		t.Errorf("the session outlived its key: %d", resp.StatusCode)
	}
	if resp, _ = do(t, s, ask{method: "GET", path: "/events", cookie: cookie}); resp.StatusCode != 303 || resp.Header.Get("Location") != "/signin?next=%2Fevents" {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	_, _, s := portal(t)
	cookie := signIn(t, s, `{"token":"`+theToken+`"}`)
	for name, a := range map[string]ask{
		"no header of ours":    {method: "POST", path: "/console/api/projects", header: map[string]string{"Origin": s.URL}},
		"no origin":            {method: "POST", path: "/console/api/projects", header: map[string]string{"X-Weir-Console": "1"}},
		"another origin":       {method: "POST", path: "/console/api/projects", header: map[string]string{"X-Weir-Console": "1", "Origin": "http://evil.example"}},
		"null origin":          {method: "DELETE", path: "/console/api/projects/x", header: map[string]string{"X-Weir-Console": "1", "Origin": "null"}},
		"a cross-site read":    {method: "GET", path: "/console/api/events", header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a same-site neighbor": {method: "GET", path: "/console/api/events", header: map[string]string{"Sec-Fetch-Site": "same-site"}},
		"signing out":          {method: "DELETE", path: "/console/session", header: map[string]string{"Origin": "http://evil.example", "X-Weir-Console": "1"}},
	} {
		a.cookie = cookie
		if resp, text := do(t, s, a); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
}

func TestSigningInOverPlainHTTPElsewhereIsRefused(t *testing.T) {
	_, _, s := portal(t)
	r, err := http.NewRequest(http.MethodPost, s.URL+"/console/session", strings.NewReader(`{"token":"`+theToken+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "weir.example"
	for name, value := range map[string]string{"X-Weir-Console": "1", "Origin": "http://weir.example", "Content-Type": "application/json"} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "https") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

func TestASignInLinkWorksOnce(t *testing.T) {
	c, _, s := portal(t)
	link := c.SignInLink(s.URL, theToken)
	if strings.Contains(link, theToken) {
		t.Error("the link shows the token")
	}
	_, code, _ := strings.Cut(link, "#link=")
	signIn(t, s, `{"link":"`+code+`"}`)
	if resp, _ := do(t, s, ask{method: "POST", path: "/console/session", body: `{"link":"` + code + `"}`, header: ours(s)}); resp.StatusCode != 401 {
		t.Errorf("used twice: %d", resp.StatusCode)
	}
}

func TestForgedAndExpiredSessionsAreNone(t *testing.T) {
	_, _, s := portal(t)
	old := plainly{}.Seal(`{"b":"` + theToken + `","e":1}`)
	for _, value := range []string{"", "x", "sealed.7b", old, plainly{}.Seal(`{"b":"other","e":` + "99999999999" + `}`)} {
		resp, _ := do(t, s, ask{method: "GET", path: "/console/api/events", cookie: &http.Cookie{Name: "__Host-weir", Value: value}})
		if resp.StatusCode != 401 {
			t.Errorf("%q: %d", value, resp.StatusCode)
		}
	}
}

func TestEveryPageIsServedClosed(t *testing.T) {
	_, _, s := portal(t)
	cookie := signIn(t, s, `{"token":"`+theToken+`"}`)
	for _, path := range []string{"/", "/start", "/events", "/trace/%3Cscript%3E", "/errors", "/errors/%22%3E%3Cimg%20src=x%3E", "/webhooks", "/costs", "/performance", "/projections", "/projects", "/projects/prj_x", "/signin"} {
		resp, text := do(t, s, ask{method: "GET", path: path, cookie: cookie})
		policy := resp.Header.Get("Content-Security-Policy")
		switch {
		case resp.StatusCode != 200 || !strings.Contains(text, "<title>"):
			t.Errorf("%s: %d", path, resp.StatusCode)
		case strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "require-trusted-types-for"):
			t.Errorf("%s: policy %q", path, policy)
		case resp.Header.Get("X-Content-Type-Options") != "nosniff":
			t.Errorf("%s: no nosniff", path)
		case strings.Contains(text, "<script>") || strings.Contains(text, "<img src=x>") || strings.Contains(text, " style="):
			t.Errorf("%s has what its policy forbids:\n%s", path, text)
		}
	}
}

func TestAssetsAreKeptForEverAndShrunk(t *testing.T) {
	_, _, s := portal(t)
	_, page := do(t, s, ask{method: "GET", path: "/signin"})
	_, rest, _ := strings.Cut(page, `rel="stylesheet" href="`)
	path, _, _ := strings.Cut(rest, `"`)
	resp, body := do(t, s, ask{method: "GET", path: path, header: map[string]string{"Accept-Encoding": "gzip"}})
	if resp.StatusCode != 200 || resp.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if len(body) > 20_000 {
		t.Errorf("the styles take %d bytes", len(body))
	}
	if resp, _ := do(t, s, ask{method: "GET", path: "/console/assets/other/weir.css"}); resp.StatusCode != 404 {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestSessionsEnd(t *testing.T) {
	c, err := console.New(console.Config{Auth: &keys{}, Sealer: plainly{}, SessionLife: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	c.Routes(r)
	s := httptest.NewServer(c.Wrap(r))
	defer s.Close()
	if cookie := signIn(t, s, `{"token":"`+theToken+`"}`); cookie.MaxAge != 60 {
		t.Errorf("kept for %d s", cookie.MaxAge)
	}
}
