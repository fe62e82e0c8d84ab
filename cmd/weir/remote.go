package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/client"
)

// adminTokenFile is where a single machine keeps its admin token, below the data folder.
const adminTokenFile = "admin.token"

// remote is how verbs reach a running server.
type remote struct {
	Server string `help:"Address of the server (${default})." env:"WEIR_SERVER" default:"http://127.0.0.1:8080" placeholder:"URL"`
	Data   string `help:"Data folder whose admin token is used (${default})." env:"WEIR_DATA_DIR" default:"${data_dir}" placeholder:"DIR"`
	Token  string `help:"Admin token or API key, instead of the data folder's." env:"WEIR_ADMIN_TOKEN" placeholder:"TOKEN"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// admin gives a client that carries the admin token.
func (r *remote) admin() (*client.Client, error) {
	token := r.Token
	if token == "" {
		path := filepath.Join(r.Data, adminTokenFile)
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no admin token at %s: name the server's data folder with --data DIR, or set WEIR_ADMIN_TOKEN", path)
		}
		if err != nil {
			return nil, fmt.Errorf("read the admin token: %w", err)
		}
		token = strings.TrimSpace(string(raw))
	}
	return client.New(r.Server, token), nil
}
