package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/console"
	"weir/control"
)

// startConsole mounts the web page. It reaches the API as any browser does: over HTTP paths,
// with the bearer of who signed in.
func (p *portal) startConsole(r chi.Router) error {
	page, err := console.New(console.Config{
		Auth:    p.directory,
		Sealer:  sessionSealer{p.keys.keyring},
		Logger:  p.logger,
		Version: version(),
	})
	if err != nil {
		return err
	}
	page.Routes(r)
	p.console = page
	return nil
}

// doors is what requests meet first: the console's way into the API, then the routes.
func (p *portal) doors(routes http.Handler) http.Handler {
	if p.console == nil {
		return routes
	}
	return p.console.Wrap(routes)
}

// sessionSealer seals the console's sessions under the master key, so that every process of an
// installation takes the sessions of the others.
type sessionSealer struct{ keyring *control.Keyring }

const sessionPurpose = "console session"

// Seal encrypts a session.
func (s sessionSealer) Seal(plain string) string {
	return s.keyring.Seal(sessionPurpose, "", control.NewSecret(plain))
}

// Open decrypts what Seal made; false for anything else.
func (s sessionSealer) Open(sealed string) (string, bool) {
	plain, err := s.keyring.Open(sessionPurpose, "", sealed)
	return plain.Reveal(), err == nil
}

// signInLink signs a person on this machine in as the admin, once.
func (p *portal) signInLink() string {
	if p.console == nil {
		return p.url() + " (this process does not have the role read, which serves the console)"
	}
	return p.console.SignInLink(p.url(), p.keys.admin.Reveal())
}
