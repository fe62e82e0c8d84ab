package engines

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// containerNode is an engine in a container, whose published ports stay the same through kill
// and start.
type containerNode struct {
	container *testcontainers.DockerContainer
}

// newContainer creates a container that is started later and removed when the test ends. The
// ports are published on loopback: container port to host port.
func newContainer(ctx context.Context, t testing.TB, image string, ports map[int]int, options ...testcontainers.ContainerCustomizer) (*containerNode, error) {
	bindings := network.PortMap{}
	var exposed []string
	for inside, outside := range ports {
		port := strconv.Itoa(inside) + "/tcp"
		exposed = append(exposed, port)
		bindings[network.MustParsePort(port)] = []network.PortBinding{
			{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(outside)},
		}
	}
	options = append(options, testcontainers.WithNoStart(), testcontainers.WithExposedPorts(exposed...),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) { c.PortBindings = bindings }))
	c, err := testcontainers.Run(ctx, image, options...)
	n := &containerNode{container: c}
	if c != nil {
		t.Cleanup(func() {
			_ = n.kill(context.WithoutCancel(ctx)) // an orderly end would cost seconds
			if err := testcontainers.TerminateContainer(c); err != nil {
				t.Logf("removing the container of %s: %v", image, err)
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("a container of %s: %w", image, err)
	}
	return n, nil
}

func (n *containerNode) start(ctx context.Context) error { return n.container.Start(ctx) }

func (n *containerNode) kill(ctx context.Context) error {
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	id := n.container.GetContainerID()
	if _, err := docker.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		return err
	}
	ended := docker.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-ended.Result:
		return nil
	case err := <-ended.Error:
		return err
	}
}

func (n *containerNode) output(ctx context.Context) string {
	log, err := n.container.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	return tailOf(log)
}
