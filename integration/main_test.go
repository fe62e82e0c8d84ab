package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/internal/clickhouse/chtest"
)

// seedFlag repeats a run: every scenario prints the seed that it took.
var seedFlag = flag.Uint64("seed", 0, "seed of the scenarios (0: a new one for each)")

// soak tells whether the scenarios run in their full size.
var soak = os.Getenv("WEIR_SOAK") == "1"

// sized chooses between the size of every day and the full one.
func sized(everyDay, full int) int {
	if soak {
		return full
	}
	return everyDay
}

// seeded prints the scenario's seed, so that a failure can be run again.
func seeded(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: run again with go test ./integration -run '^%s$' -seed %d", seed, t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 1)), seed
}

// binaries is the folder of what is built for this test process; TestMain removes it.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "weir-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = dir
	code := chtest.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build makes the binary under test, unless WEIR_TEST_BINARY names one: the plain one, as it is shipped, not the one with the race
// detector. The packages' own tests run with that; here time and memory should be the real ones.
var build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("WEIR_TEST_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(binaries, "weir")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/weir")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/weir: %w\n%s", err, out)
	}
	return path, nil
})

func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually asks until check is content; the last objection is the failure.
func eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	if err := until(within, check); err != nil {
		t.Fatalf("%s: not within %v: %v", what, within, err)
	}
}

func until(within time.Duration, check func() error) error {
	deadline := time.Now().Add(within)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}
