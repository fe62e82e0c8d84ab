package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"weir/internal/httpapi"
)

//go:embed assets pages snippets
var files embed.FS

// assetSet holds every static file, plain and gzipped. The prefix of their addresses changes with
// their content, so browsers may keep them for ever, and relative imports stay within one set.
type assetSet struct {
	prefix string
	files  map[string]asset // by path below the prefix
}

type asset struct {
	kind           string
	plain, gzipped []byte // gzipped is nil where it is no shorter
}

var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2",
}

func loadAssets() (*assetSet, error) {
	set := &assetSet{files: map[string]asset{}}
	sum := sha256.New()
	root, err := fs.Sub(files, "assets")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(plain))
		sum.Write(plain)
		set.files[name] = asset{kindOf(name), plain, shrunk(plain)}
		return nil
	})
	set.prefix = "/console/assets/" + hex.EncodeToString(sum.Sum(nil)[:6]) + "/"
	return set, err
}

func kindOf(name string) string {
	if kind, ok := kinds[path.Ext(name)]; ok {
		return kind
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "text/plain; charset=utf-8"
}

func shrunk(plain []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(plain); err != nil || w.Close() != nil || b.Len() >= len(plain) {
		return nil
	}
	return b.Bytes()
}

func (s *assetSet) serve(w http.ResponseWriter, r *http.Request) {
	a, ok := s.files[strings.TrimPrefix(r.URL.Path, s.prefix)]
	if !ok {
		httpapi.NotFoundHandler(w, r)
		return
	}
	h, body := w.Header(), a.plain
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if a.gzipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gzipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that went away is no fault
}
