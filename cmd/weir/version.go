package main

import (
	"runtime"
	"runtime/debug"
)

// release is set by the Makefile (-ldflags "-X main.release=…").
var release = "dev"

// version is the release and, where Go knows it, the commit.
func version() string {
	text := release
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				text += "+" + s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return text
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *versionCmd) Run(t *terminal) error {
	if c.JSON {
		return t.json(map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	t.printf("weir %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
