// Command engine is what the local images of the engines are made with. It prints where the
// engines' files are, fetching them first where needed, and it is the ClickHouse child that the
// ClickHouse image runs.
package main

import (
	"context"
	"fmt"
	"os"

	"weir/integration/engines"
	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
)

func main() {
	clickhouse.RunChildIfAsked()
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: engine kafka-jars | clickhouse"))
	}
	path, err := find(context.Background(), os.Args[1])
	if err != nil {
		fail(err)
	}
	fmt.Println(path)
}

func find(ctx context.Context, what string) (string, error) {
	switch what {
	case "kafka-jars":
		return engines.KafkaJars(ctx)
	case "clickhouse":
		cache, err := chtest.CacheDir()
		if err != nil {
			return "", err
		}
		found, err := clickhouse.Find(ctx, clickhouse.FindConfig{CacheDir: cache, Progress: os.Stderr})
		return found.Program + found.Library, err // one of them is empty
	}
	return "", fmt.Errorf("unknown engine %q: kafka-jars or clickhouse", what)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
