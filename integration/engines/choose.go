package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
)

// The two values of WEIR_TEST_ENGINES.
const (
	docker    = "docker"
	processes = "processes"
)

// attempts bounds the starts of an engine whose ports were taken between picking and binding.
const attempts = 3

// dockerAnswers says once per process whether a Docker daemon answers.
var dockerAnswers = sync.OnceValue(func() (err error) {
	defer func() { // the provider panics where it finds no socket
		if r := recover(); r != nil {
			err = fmt.Errorf("no Docker: %v", r)
		}
	}()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return fmt.Errorf("no Docker: %w", err)
	}
	defer provider.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := provider.Health(ctx); err != nil {
		return fmt.Errorf("the Docker daemon does not answer: %w", err)
	}
	return nil
})

// errMissing says that this machine lacks what an engine needs, as opposed to one that fails.
var errMissing = errors.New("missing")

// choose starts an engine in the first way that there is. A way that fails although it is there
// fails the test, but for one thing: an image that can't be had, where processes can do as well.
func choose[E any](t testing.TB, name string, inDocker, asProcesses func(context.Context) (E, error)) E {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // a first run fetches
	defer cancel()
	only := os.Getenv(sourceEnv)
	if only != "" && only != docker && only != processes {
		t.Fatalf("%s is %q; set it to %s or %s, or unset it", sourceEnv, only, docker, processes)
	}
	var reasons []error
	if only != processes {
		reason := dockerAnswers()
		if reason == nil {
			engine, err := inDocker(ctx)
			if err == nil {
				return engine
			}
			reason = err
		}
		if only == docker {
			t.Fatalf("%s in Docker: %v", name, reason)
		}
		reasons = append(reasons, reason)
	}
	engine, err := asProcesses(ctx)
	if err == nil {
		t.Logf("%s runs as processes of this machine (%v)", name, errors.Join(reasons...))
		return engine
	}
	if !errors.Is(err, errMissing) || only == processes {
		t.Fatalf("%s as processes of this machine: %v", name, err)
	}
	t.Skipf("left out, as there is no %s: %v", name, errors.Join(append(reasons, err)...))
	panic("unreachable")
}
