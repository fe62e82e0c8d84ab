package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"weir/integration/engines"
	"weir/projections/foldtest"
)

// The faults of the folds' own tests, which run on an embedded broker there, on Apache
// Kafka: crashes at every step, stale owners, rebalances, lost checkpoints, a topic made
// anew, partitions added; the first two groups of them alone unless WEIR_SOAK=1. (What that runs is no input of this test to Go: give -count=1.)
func TestFoldsOnApacheKafka(t *testing.T) {
	kafka := engines.Kafka(t, 1)
	tests := "ExactlyOnceThroughCrashes|Stale"
	if soak {
		tests = "ExactlyOnce|Stale|Membership|Rewritten|PartitionsAdded|OneLostCheckpoint|FiveProjectors"
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "weir/projections", "-count=1", "-timeout=8m", "-v", "-run", tests)
	cmd.Env = append(os.Environ(), foldtest.BrokersEnv+"="+strings.Join(kafka.Brokers(), ","))
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, "--- ") || strings.Contains(line, "seed ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
