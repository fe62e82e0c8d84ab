package main

import (
	"context"

	"weir/internal/clickhouse"
)

type engineCmd struct {
	Cache             string `help:"Cache folder of the fetched engine (${default})." env:"WEIR_CACHE_DIR" default:"${cache_dir}" placeholder:"DIR"`
	ClickHouseProgram string `name:"clickhouse-program" help:"clickhouse program to use." env:"WEIR_CLICKHOUSE_PROGRAM" placeholder:"PATH"`
	JSON              bool   `name:"json" help:"Print JSON."`
}

// Run makes sure of the engine, so that the first start does not have to wait for a download.
func (c *engineCmd) Run(ctx context.Context, t *terminal) error {
	engine, err := clickhouse.Find(ctx, clickhouse.FindConfig{Program: c.ClickHouseProgram, CacheDir: c.Cache, Progress: t.err})
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(map[string]string{"program": engine.Program, "library": engine.Library})
	}
	t.printf("%s\n", engine)
	return nil
}
