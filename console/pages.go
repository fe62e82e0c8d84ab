package console

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
)

// routes are the pages by path; each has a template pages/<name>.html and a module js/pages/<name>.js.
var routes = map[string]string{
	"/":                     "overview",
	"/start":                "start",
	"/events":               "events",
	"/trace/{id}":           "trace",
	"/errors":               "errors",
	"/errors/{fingerprint}": "error",
	"/webhooks":             "webhooks",
	"/costs":                "costs",
	"/performance":          "performance",
	"/projections":          "projections",
	"/projects":             "projects",
	"/projects/{id}":        "project",
}

// titles of the pages, and the entry of the navigation each belongs to.
var titles = map[string][2]string{
	"overview": {"Overview", "/"}, "start": {"New project", "/projects"}, "events": {"Events", "/events"}, "trace": {"Trace", "/events"},
	"errors": {"Errors", "/errors"}, "error": {"Error group", "/errors"}, "webhooks": {"Webhooks", "/webhooks"}, "costs": {"Costs", "/costs"},
	"performance": {"Performance", "/performance"}, "projections": {"Projections", "/projections"}, "projects": {"Projects", "/projects"},
	"project": {"Project", "/projects"}, "signin": {"Sign in", ""},
}

// navItem is one entry of the navigation; Key is pressed after g.
type navItem struct{ Path, Name, Key string }

var navigation = []navItem{
	{"/", "Overview", "o"}, {"/events", "Events", "e"}, {"/errors", "Errors", "r"}, {"/performance", "Performance", "p"},
	{"/costs", "Costs", "c"}, {"/webhooks", "Webhooks", "w"}, {"/projections", "Projections", "f"}, {"/projects", "Projects", "k"},
}

// pageData is what templates see. None of it comes from an event.
type pageData struct {
	Name, Title, Section string
	Assets, Version      string
	Theme                string // light, dark or "" for the system's
	Project              string // an id, or "" when not known yet
	Fixed                bool   // the caller's key belongs to that project
	Admin                bool
	Resource             string // the id in the path
	Nav                  []navItem
	Snippets             []snippet
	Types                []string
}

// views are the parsed templates.
type views struct {
	byName   map[string]*template.Template
	assets   string
	version  string
	snippets []snippet
}

func loadViews(a *assetSet, version string) (*views, error) {
	v := &views{byName: map[string]*template.Template{}, assets: a.prefix, version: version}
	var err error
	if v.snippets, err = loadSnippets(); err != nil {
		return nil, err
	}
	for name := range titles {
		t, err := template.New("layout.html").ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		if _, ok := a.files["js/pages/"+name+".js"]; !ok {
			return nil, fmt.Errorf("page %s has no module js/pages/%s.js", name, name)
		}
		v.byName[name] = t
	}
	return v, nil
}

var (
	projectForm = regexp.MustCompile(`^prj_[A-Za-z0-9]{1,64}$`)
	themeForm   = regexp.MustCompile(`^(light|dark)$`)
)

// eventTypes are the thirteen, in the order their colours are given out in.
var eventTypes = []string{"log", "trace", "performance", "error", "audit", "deploy", "config", "feature_flag", "repository", "cost", "webhook", "tenant", "video"}

// page renders a page for who is signed in, and sends anybody else to the sign-in.
func (c *Console) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, _, ok := c.principal(r)
		if !ok {
			next := url.Values{"next": {r.URL.RequestURI()}}
			http.Redirect(w, r, "/signin?"+next.Encode(), http.StatusSeeOther)
			return
		}
		c.render(w, r, c.views.data(name, r, p))
	}
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, c.views.data("signin", r, httpapi.Principal{}))
}

func (v *views) data(name string, r *http.Request, p httpapi.Principal) pageData {
	d := pageData{
		Name: name, Title: titles[name][0], Section: titles[name][1], Assets: v.assets, Version: v.version,
		Theme: cookieText(r, "weir-theme", themeForm), Project: p.ProjectID, Fixed: p.ProjectID != "", Admin: p.Admin,
		Nav: navigation, Types: eventTypes, Snippets: v.snippets, Resource: resource(r),
	}
	if p.Admin {
		d.Project = r.URL.Query().Get("project")
		if !projectForm.MatchString(d.Project) {
			d.Project = cookieText(r, "weir-project", projectForm)
		}
	}
	return d
}

// resource is the id in the path, as text: it is only ever shown and sent back to the API.
func resource(r *http.Request) string {
	for _, name := range []string{"id", "fingerprint"} {
		if v := chi.URLParam(r, name); v != "" {
			if plain, err := url.PathUnescape(v); err == nil && r.URL.RawPath != "" {
				v = plain
			}
			return strings.ToValidUTF8(v, "\uFFFD")
		}
	}
	return ""
}

func cookieText(r *http.Request, name string, form *regexp.Regexp) string {
	cookie, err := r.Cookie(name)
	if err != nil || !form.MatchString(cookie.Value) {
		return ""
	}
	return cookie.Value
}

func (c *Console) render(w http.ResponseWriter, r *http.Request, d pageData) {
	var b bytes.Buffer
	if err := c.views.byName[d.Name].Execute(&b, d); err != nil {
		httpapi.WriteError(w, r, fmt.Errorf("render page %s: %w", d.Name, err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // a client that went away is no fault
}

// snippet is one program that sends a signed batch, with places for address, key and secret.
type snippet struct{ ID, Label, Run, Text string }

func loadSnippets() ([]snippet, error) {
	all := []snippet{
		{ID: "curl.sh", Label: "curl", Run: "Paste into a terminal. Needs curl and openssl."},
		{ID: "main.go", Label: "Go", Run: "Save as main.go, then: go run main.go"},
		{ID: "send.ts", Label: "TypeScript", Run: "Save as send.ts, then: npx tsx send.ts (or node send.ts from Node 22.18 on)"},
		{ID: "send.py", Label: "Python", Run: "Save as send.py, then: python3 send.py"},
	}
	for i := range all {
		text, err := fs.ReadFile(files, "snippets/"+all[i].ID+".txt")
		if err != nil {
			return nil, err
		}
		all[i].Text = string(text)
	}
	return all, nil
}
