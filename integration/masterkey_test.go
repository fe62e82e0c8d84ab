package integration

import (
	"crypto/rand"
	"encoding/base64"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A server with another master key than its projects were made with says so and ends. Serving, it
// would refuse every batch with a 403, and clients drop what a 403 refused.
func TestAnotherMasterKey(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.project("sealed")
	s.stop(syscall.SIGTERM)
	another := make([]byte, 32)
	_, _ = rand.Read(another)
	o := weir(t, []string{"WEIR_MASTER_KEY=" + base64.StdEncoding.EncodeToString(another)},
		"serve", "--http", "127.0.0.1:0", "--data", filepath.Clean(s.data))
	if o.code != 1 || !strings.Contains(o.stderr, "master key") || !strings.Contains(o.stderr, "WEIR_MASTER_KEY") {
		t.Errorf("exit %d after %v:\n%s", o.code, o.took, o.stderr)
	}
	s.start()
}
