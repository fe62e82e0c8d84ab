package clickhouse

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// npmPackage is one pinned package of the npm registry that holds the engine.
type npmPackage struct {
	Name        string
	Version     string
	Integrity   string // npm's: "sha512-" and base64 of the tarball's SHA-512
	TarballSize int64
	Library     string // file name in the package
	LibrarySize int64
}

// packages holds, by GOOS/GOARCH, the packages whose bytes have been checked by hand. A new
// version is taken by changing all of its fields at once: the integrity is what
// `npm view NAME@VERSION dist.integrity` prints.
var packages = map[string]npmPackage{
	"linux/amd64": {
		Name:        "@chdb/lib-linux-x64-gnu",
		Version:     "26.7.3-stable.1",
		Integrity:   "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
		TarballSize: 177817999,
		Library:     "libchdb.so",
		LibrarySize: 566330096,
	},
}

func platformPackage() (npmPackage, error) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	pkg, ok := packages[platform]
	if !ok {
		return npmPackage{}, fmt.Errorf("no ClickHouse engine can be fetched for %s; %s", platform, whatToInstall)
	}
	return pkg, nil
}

// libraryPath is where the cache keeps the library: by version, so that two versions of Weir
// share one cache.
func (p npmPackage) libraryPath(cacheDir string) string {
	return filepath.Join(cacheDir, "clickhouse", p.Version, p.Library)
}
