package grouping

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// Stacks name the same files again and again: what stays of a place is kept, for as many as have
// room, a place taking that of another. Longer names are not worth their room.
const (
	keptPlaces = 4096
	keptPlace  = 512 // bytes of a name
)

type place struct {
	lang   language
	file   string
	stayed string
}

var (
	places     [keptPlaces]atomic.Pointer[place]
	placesSeed = maphash.MakeSeed()
)

// appendFile writes what stays of a file's place, see appendPlace.
func appendFile(dst []byte, lang language, file string) []byte {
	if file == "" || len(file) > keptPlace {
		return appendPlace(dst, lang, file)
	}
	at := &places[(maphash.String(placesSeed, file)+uint64(lang))%keptPlaces]
	if known := at.Load(); known != nil && known.lang == lang && known.file == file {
		return append(dst, known.stayed...)
	}
	before := len(dst)
	dst = appendPlace(dst, lang, file)
	at.Store(&place{lang, strings.Clone(file), string(dst[before:])})
	return dst
}

// appendPlace writes what stays of a file's place when the machine, the checkout, the
// build and the host are taken out: its name without hashes. Names that every other folder has
// (views.py, index.js) have their folder before them. Where the project's root is can only be guessed,
// so that is done for no other names.
func appendPlace(dst []byte, lang language, file string) []byte {
	if file == "" {
		return dst
	}
	if file[0] == '<' || file[0] == '(' || file == "[internal function]" {
		return appendPseudoFile(dst, file)
	}
	path, bundled := sourcePath(file)
	if rest, ok := afterLibraryRoot(path); ok {
		return appendHashless(dst, lastSegments(rest, 3))
	}
	if bundled || !isCommonFile(lastSegments(path, 1)) {
		path = lastSegments(path, 1)
	} else {
		path = lastSegments(projectPath(path), 2)
	}
	if lang == javaScript || lang == unknownLanguage {
		return appendHashless(dst, path)
	}
	return append(dst, path...)
}

// appendPseudoFile writes a place that is no file: <string>, <frozen importlib>, <ipython-input-5-a1b2>, (eval).
func appendPseudoFile(dst []byte, file string) []byte {
	for _, p := range []string{"<ipython-input", "(eval", "<stdin", "<internal:", "<eval"} {
		if strings.HasPrefix(file, p) {
			return append(dst, p...)
		}
	}
	return append(dst, file...)
}

// sourcePath gives the path of a file or URL with "/" between its parts, without scheme, host, query
// and drive. bundled says that it was loaded from a host, where the folders are a matter of
// deployment.
func sourcePath(file string) (path string, bundled bool) {
	if i := strings.IndexAny(file, "?#"); i > 0 && strings.Contains(file, "://") {
		file = file[:i]
	}
	if i := strings.Index(file, "://"); i >= 0 {
		scheme := file[:i]
		file = file[i+3:]
		bundled = scheme != "file" && !strings.HasPrefix(scheme, "webpack") && scheme != "ng" && scheme != "app" && scheme != "rsc"
		if j := strings.IndexByte(file, '/'); j >= 0 && scheme != "file" {
			file = file[j:]
		}
	}
	file = strings.TrimPrefix(strings.TrimPrefix(file, "file:"), "node:")
	if strings.IndexByte(file, '\\') >= 0 {
		file = strings.ReplaceAll(file, `\`, "/")
	}
	if len(file) > 2 && file[1] == ':' && isLetter(file[0]) {
		file = file[2:]
	}
	if bundled && strings.Contains(file, "/src/") {
		bundled = false
	}
	return file, bundled
}

// libraryRoots are the folders under which the parts of a path are a library's own.
var libraryRoots = []string{
	"/site-packages/", "/dist-packages/", "/node_modules/", "/gems/", "/pkg/mod/", "/vendor/", "/registry/src/", "/rustc/",
}

// afterLibraryRoot returns the path under the last library root.
func afterLibraryRoot(path string) (string, bool) {
	best := -1
	for _, root := range libraryRoots {
		if i := strings.LastIndex(path, root); i >= 0 {
			best = max(best, i+len(root))
		} else if strings.HasPrefix(path, root[1:]) {
			best = max(best, len(root)-1)
		}
	}
	if best < 0 {
		return path, false
	}
	return path[best:], true
}

// commonFiles are names that say nothing without their folder.
var commonFiles = wordSet(`index __init__ mod view views model models util utils helper helpers handler handlers route routes router page layout type types
	controller controllers service services api base common task tasks job jobs form forms admin serializer serializers url urls schema query queries
	client action actions reducer store hook hooks constant constants error errors exceptions setting settings test tests component
	resolver resolvers repository module show edit new create update delete list get post put _form lib default template styles`)

// isCommonFile says whether a file's name, without its ending, is one of them.
func isCommonFile(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	return len(stem) < 16 && commonFiles[lowered(stem)]
}

// projectPath cuts from an absolute path what depends on the machine: the folders up to the
// project, or up to the last folder that by custom holds the sources.
func projectPath(path string) string {
	if i := afterSourceRoot(path); i > 0 {
		return path[i:]
	}
	if !strings.HasPrefix(path, "/") {
		return strings.TrimPrefix(path, "./")
	}
	return cutCheckout(path[1:])
}

// afterSourceRoot returns the index after the last folder that by custom holds sources or what
// was built from them, or 0.
func afterSourceRoot(path string) int {
	end := strings.LastIndexByte(path, '/')
	for end > 0 {
		start := strings.LastIndexByte(path[:end], '/') + 1
		switch path[start:end] {
		case "src", "app", "lib", "dist", "build", "html", "www", "htdocs", "public_html", "current", "workspace", "wwwroot", "code", "project", "task":
			return end + 1
		}
		end = start - 1
	}
	return 0
}

// homes are the folders under which each user or job has a checkout; the number says how many folders
// below belong to the machine and not to the project.
var homes = []struct {
	prefix string
	depth  int
}{
	{"home/runner/work/", 1}, {"home/", 1}, {"Users/", 1}, {"users/", 1}, {"root/", 0}, {"builds/", 1}, {"srv/", 0}, {"opt/", 0},
	{"private/tmp/", 0}, {"tmp/", 0}, {"var/lib/", 0}, {"usr/local/", 0}, {"usr/", 0}, {"mnt/", 0}, {"data/", 0}, {"workspaces/", 0}, {"a/", 0}, {"var/", 0},
}

// cutCheckout cuts the home, the folders that hold projects, and the project's own folder off a path.
func cutCheckout(path string) string {
	for _, h := range homes {
		rest, ok := strings.CutPrefix(path, h.prefix)
		if !ok {
			continue
		}
		for range h.depth {
			rest = cutFolder(rest)
		}
		for isProjectsFolder(rest) {
			rest = cutFolder(rest)
		}
		return cutFolder(rest)
	}
	return path
}

// isProjectsFolder says whether the first folder of path is where people put their checkouts.
func isProjectsFolder(path string) bool {
	folder, _, ok := strings.Cut(path, "/")
	if !ok {
		return false
	}
	switch strings.ToLower(folder) {
	case "dev", "projects", "work", "repos", "git", "source", "sources", "documents", "desktop", "github", "workspace", "go", "github.com", "sites", "apps":
		return true
	}
	return false
}

// cutFolder cuts the first folder off path, but never the file itself.
func cutFolder(path string) string {
	if _, rest, ok := strings.Cut(path, "/"); ok {
		return rest
	}
	return path
}

// lastSegments gives the last n parts of a path.
func lastSegments(path string, n int) string {
	i := len(path)
	for range n {
		j := strings.LastIndexByte(path[:i], '/')
		if j < 0 {
			return path
		}
		i = j
	}
	return path[i+1:]
}
