package httpapi

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

type fakeKeys map[string]Principal

func (f fakeKeys) Authenticate(bearer string) (Principal, bool) {
	p, ok := f[bearer]
	return p, ok
}

var keys = fakeKeys{
	"admin": {Admin: true},
	"full":  {ProjectID: "prj_a", KeyID: "k1", Scopes: ScopeAll},
	"send":  {ProjectID: "prj_a", KeyID: "k2", Scopes: ScopeIngest},
}

func TestBearer(t *testing.T) {
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{nil, ""}, {[]string{""}, ""}, {[]string{"Bearer"}, ""}, {[]string{"Bearer "}, ""}, {[]string{"Bearer   "}, ""},
		{[]string{"Bearer x"}, "x"}, {[]string{"bearer x"}, "x"}, {[]string{"BEARER  x"}, "x"},
		{[]string{"Basic x"}, ""}, {[]string{"Bearerx"}, ""}, {[]string{"Bearer x y"}, ""}, {[]string{"Bearer x, Bearer y"}, ""},
		{[]string{"Bearer x", "Bearer x"}, ""},
	} {
		r := &http.Request{Header: http.Header{"Authorization": c.headers}}
		got, ok := Bearer(r)
		if ok != (c.want != "") || (ok && got != c.want) {
			t.Errorf("%q: got %q, %v", c.headers, got, ok)
		}
	}
}

func TestRequire(t *testing.T) {
	manage, admin := RequireScope(keys, ScopeManage), RequireAdmin(keys)
	for _, c := range []struct {
		name   string
		guard  func(http.Handler) http.Handler
		bearer string
		want   int
	}{
		{"no key", manage, "", 401}, {"unknown", manage, "other", 401}, {"lacks the scope", manage, "send", 403},
		{"has it", manage, "full", 200}, {"admin has all", manage, "admin", 200},
		{"admin only, key", admin, "full", 403}, {"admin only", admin, "admin", 200}, {"admin only, none", admin, "", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen Principal
			h := c.guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = PrincipalFrom(r.Context()) }))
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			if c.bearer != "" {
				r.Header.Set("Authorization", "Bearer "+c.bearer)
			}
			h.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Fatalf("got %d: %s", w.Code, w.Body)
			}
			if w.Code == 200 && !reflect.DeepEqual(seen, keys[c.bearer]) {
				t.Errorf("handler saw %+v", seen)
			}
		})
	}
}

func TestProjectFrom(t *testing.T) {
	for _, c := range []struct {
		who, query, want string
		code             Code
	}{
		{"full", "", "prj_a", ""}, {"full", "?project_id=prj_a", "prj_a", ""},
		{"full", "?project_id=prj_b", "", CodeNotFound}, {"full", "?project_id=prj_a&project_id=prj_b", "", CodeInvalidParameter},
		{"admin", "?project_id=prj_b", "prj_b", ""}, {"admin", "", "", CodeInvalidParameter},
		{"nobody", "?project_id=prj_a", "", CodeNotFound},
	} {
		r := httptest.NewRequest("GET", "/"+c.query, nil)
		r = r.WithContext(WithPrincipal(r.Context(), keys[c.who]))
		got, err := ProjectFrom(r)
		if got != c.want || (err == nil) != (c.code == "") || (err != nil && ProblemOf(err).Code != c.code) {
			t.Errorf("%s %s: got %q, %v", c.who, c.query, got, err)
		}
	}
}

func TestParseScopes(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  Scope
		ok    bool
	}{
		{nil, 0, true}, {[]string{"ingest"}, ScopeIngest, true}, {[]string{"manage", "read"}, ScopeManage | ScopeRead, true},
		{[]string{"Ingest"}, 0, false}, {[]string{""}, 0, false}, {[]string{"read", "read"}, 0, false},
	} {
		got, err := ParseScopes(c.names)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: got %v, %v", c.names, got, err)
		}
	}
	if got := ScopeAll.String(); got != "ingest,read,manage" {
		t.Error(got)
	}
}
