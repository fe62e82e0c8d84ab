package engines

import (
	"context"
	"fmt"
	"testing"

	"github.com/testcontainers/testcontainers-go"

	"weir/internal/clickhouse"
)

// nativePort of the native protocol inside the container.
const nativePort = 9000

func clickHouseInDocker(ctx context.Context, t testing.TB) (*ClickHouseServer, error) {
	var err error
	for range attempts {
		var ports []int
		if ports, err = freePorts(1); err != nil {
			return nil, err
		}
		var node *containerNode
		// Without this the image's default user may connect from inside the container only.
		env := map[string]string{"CLICKHOUSE_SKIP_USER_SETUP": "1"}
		node, err = newContainer(ctx, t, clickHouseImage(), map[int]int{nativePort: ports[0]}, testcontainers.WithEnv(env))
		if err != nil {
			return nil, err
		}
		s := &ClickHouseServer{access: clickhouse.Access{Addr: fmt.Sprintf("127.0.0.1:%d", ports[0])}, engine: node}
		if err = node.start(ctx); err != nil {
			continue
		}
		if err = answers(ctx, s.access); err == nil {
			return s, nil
		}
		err = fmt.Errorf("%w\n%s", err, node.output(ctx))
	}
	return nil, err
}
