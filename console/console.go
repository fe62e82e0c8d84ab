package console

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// Sealer encrypts sessions so that every process of one installation can open them.
// Open is false for anything that Seal did not make. Both are safe for concurrent use.
type Sealer interface {
	Seal(plain string) string
	Open(sealed string) (string, bool)
}

// Config is what a Console needs.
type Config struct {
	Auth   httpapi.Authenticator
	Sealer Sealer
	Logger *slog.Logger // nil: no log
	// Version is shown at the foot of the page.
	Version string
	// SessionLife is how long a sign-in lasts; 0 means 8 h. A revoked key ends it at once.
	SessionLife time.Duration
}

// Console answers the page's requests. Safe for concurrent use.
type Console struct {
	cfg    Config
	log    *slog.Logger
	assets *assetSet
	views  *views
	links  *links
	now    func() time.Time
}

// New makes a Console; an error means that what is embedded is broken.
func New(cfg Config) (*Console, error) {
	if cfg.Auth == nil || cfg.Sealer == nil {
		return nil, errors.New("console: Auth and Sealer must be given")
	}
	if cfg.SessionLife == 0 {
		cfg.SessionLife = 8 * time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	views, err := loadViews(assets, cfg.Version)
	if err != nil {
		return nil, err
	}
	return &Console{cfg: cfg, log: cfg.Logger, assets: assets, views: views, links: newLinks(), now: time.Now}, nil
}

// Routes mounts the pages, their assets and the session on r.
func (c *Console) Routes(r chi.Router) {
	r.With(secured).Get(c.assets.prefix+"*", c.assets.serve)
	r.Route("/console/session", func(r chi.Router) {
		r.Use(secured)
		r.Get("/", c.getSession)
		r.Post("/", c.postSession)
		r.Delete("/", c.deleteSession)
	})
	r.Group(func(r chi.Router) {
		r.Use(secured)
		r.Get("/signin", c.signIn)
		for path, name := range routes {
			r.Get(path, c.page(name))
		}
	})
}

// apiPrefix is where the page reaches the API with its cookie.
const apiPrefix = "/console/api/"

// Wrap passes what the page asks below /console/api on to next as /api, with the session's
// bearer, and everything else unchanged. It stands outside of next's middleware, so that such a
// request is logged and counted once, as the API request it is.
func (c *Console) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, apiPrefix) {
			next.ServeHTTP(w, r)
			return
		}
		secure(w.Header())
		asked, err := c.bridged(r)
		if err != nil {
			httpapi.WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, asked)
	})
}

// bridged is the API request that a page's request stands for.
func (c *Console) bridged(r *http.Request) (*http.Request, error) {
	if err := sameOrigin(r); err != nil {
		return nil, err
	}
	s, ok := c.session(r)
	if !ok {
		return nil, httpapi.Unauthorized()
	}
	out := r.Clone(r.Context())
	out.URL.Path = strings.TrimPrefix(r.URL.Path, "/console")
	out.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, "/console")
	out.RequestURI = out.URL.RequestURI()
	out.Header.Del("Cookie")
	out.Header.Set("Authorization", "Bearer "+s.Bearer)
	return out, nil
}
