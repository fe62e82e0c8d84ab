package clickhouse

import (
	"slices"
	"testing"
)

// TestChildGetsNoSecrets: the engine reads any file its process may, its environment among them, for
// whoever has its password.
func TestChildGetsNoSecrets(t *testing.T) {
	t.Setenv("WEIR_MASTER_KEY", "a secret")
	t.Setenv("WEIR_ADMIN_TOKEN", "a secret")
	t.Setenv("ANOTHER", "setting")
	for _, engine := range []Engine{{Program: "/bin/true"}, {Library: "/lib.so"}} {
		cmd, err := command(engine, nil)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(cmd.Env, func(s string) bool { return s == "WEIR_MASTER_KEY=a secret" || s == "WEIR_ADMIN_TOKEN=a secret" }) {
			t.Errorf("%s gets a secret", engine)
		}
		if !slices.Contains(cmd.Env, "ANOTHER=setting") || (engine.Library != "") != slices.Contains(cmd.Env, childEnv+"=/lib.so") {
			t.Errorf("%s gets %q", engine, cmd.Env)
		}
	}
}
