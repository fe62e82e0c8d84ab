package httpapi

import (
	"net/http"
	"strings"
)

// Bearer returns the credential of the request's Authorization header. A
// missing, doubled or otherwise formed header gives false. It does not allocate.
func Bearer(r *http.Request) (string, bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	const scheme = "bearer "
	v := values[0]
	if len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return "", false
	}
	token := strings.TrimLeft(v[len(scheme):], " ")
	return token, token != "" && !strings.ContainsAny(token, " \t,")
}

// RequireScope lets a request pass when its bearer is known and has the scope:
// 401 for a missing or unknown bearer, 403 for a known one without the scope.
// The caller is then found by PrincipalFrom. Whose data a request may see is
// not decided here: handlers use ProjectFrom or Principal.Owns for that.
func RequireScope(auth Authenticator, scope Scope) func(http.Handler) http.Handler {
	return require(auth, func(p Principal) *Error {
		if p.Can(scope) {
			return nil
		}
		return Errorf(CodeForbidden, "this key lacks the scope %q: use a key that has it", scope)
	})
}

// RequireAdmin lets only the admin token pass: 401 without a known bearer, 403 for any project key.
func RequireAdmin(auth Authenticator) func(http.Handler) http.Handler {
	return require(auth, func(p Principal) *Error {
		if p.Admin {
			return nil
		}
		return Errorf(CodeForbidden, "this needs the admin token, not a project's key")
	})
}

func require(auth Authenticator, allow func(Principal) *Error) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, ok := authenticate(auth, r)
			if !ok {
				WriteError(w, r, Unauthorized())
				return
			}
			ctx := WithPrincipal(r.Context(), p)
			if err := allow(p); err != nil {
				WriteError(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

func authenticate(auth Authenticator, r *http.Request) (Principal, bool) {
	bearer, ok := Bearer(r)
	if !ok {
		return Principal{}, false
	}
	return auth.Authenticate(bearer)
}

// Unauthorized is the one answer to every bearer that is missing, malformed,
// unknown or revoked: it tells nobody which of these it was.
func Unauthorized() *Error {
	return Errorf(CodeUnauthorized, "send Authorization: Bearer <API_KEY> with a valid key")
}

// ProjectFrom returns the project a read is about: the parameter project_id,
// or the key's own project when it is not given. Another project than the
// key's is a 404; the admin must name one (400).
func ProjectFrom(r *http.Request) (string, error) {
	p := PrincipalFrom(r.Context())
	asked := r.URL.Query()["project_id"]
	switch {
	case len(asked) > 1:
		return "", ParamErrors(ParamProblem{"project_id", "given twice"})
	case len(asked) == 1 && asked[0] != "":
		if !p.Owns(asked[0]) {
			return "", NotFound("project")
		}
		return asked[0], nil
	case p.ProjectID == "":
		return "", ParamErrors(ParamProblem{"project_id", "required with the admin token"})
	}
	return p.ProjectID, nil
}
