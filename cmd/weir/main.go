// Command weir is the portal: one binary with a file per role and per verb. It only wires:
// it is the one place that reads flags and the environment, and the one place where
// packages that do not know each other are joined.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"weir/internal/clickhouse"
)

// Exit codes, the same for every verb.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// commands is the command line; each field is a verb and its type stands in the file of its name.
type commands struct {
	Serve      serveCmd      `cmd:"" help:"Run the portal: by default every role in one process, on embedded engines."`
	Project    projectCmd    `cmd:"" help:"Create and list projects."`
	Key        keyCmd        `cmd:"" help:"Create, list and revoke API keys."`
	Send       sendCmd       `cmd:"" help:"Sign and send files: NDJSON events, or plain log lines as log events."`
	Tail       tailCmd       `cmd:"" help:"Print a project's events as they arrive."`
	Demo       demoCmd       `cmd:"" help:"Send a believable day of all 13 types, to look at the console with."`
	Errors     errorsCmd     `cmd:"" help:"Explain how an exception groups; preview another grouping algorithm."`
	Webhooks   webhooksCmd   `cmd:"" help:"Tools for people who write webhook receivers."`
	Doctor     doctorCmd     `cmd:"" help:"Say what is running, what it survives, and the effective configuration."`
	Rebuild    rebuildCmd    `cmd:"" help:"Fold a read model again from the log, beside the live one, and swap it in."`
	Verify     verifyCmd     `cmd:"" help:"Fold the log again and compare it with a read model, row for row."`
	Prove      proveCmd      `cmd:"" help:"Count a project's accepted events in the log against the rows of every read model."`
	Quarantine quarantineCmd `cmd:"" help:"List records that read models could not fold."`
	Engine     engineCmd     `cmd:"" help:"Find or fetch the ClickHouse engine ahead of the first start."`
	Bench      benchCmd      `cmd:"" help:"Measure a gateway: events per second, latency, processor time."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

func main() {
	clickhouse.RunChildIfAsked()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// usageError is a wrong command line that kong could not see: exit 2.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func run(args []string, stdout, stderr io.Writer) int {
	var cli commands
	exited := -1
	parser, err := kong.New(&cli,
		kong.Name("weir"),
		kong.Description("Weir keeps signed events in a log and folds them into read models that are never lost or wrong for good."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Vars(defaultFolders()),
	)
	if err != nil {
		fmt.Fprintln(stderr, "weir:", err)
		return exitFailed
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help was printed
	}
	if err != nil {
		fmt.Fprintf(stderr, "weir: %v\n%s\n", err, hint(err))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.Bind(&terminal{out: stdout, err: stderr})
	return report(parsed.Run(), stderr)
}

func report(err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "weir: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "weir: %v\n", err)
		return exitFailed
	}
}

// hint points at the help of the verb that was meant.
func hint(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Command() != "" {
		verb := strings.Fields(parse.Context.Command())[0]
		return "Run `weir " + verb + " --help` for its flags, and for the variables that can stand for them."
	}
	return "Run `weir --help` for the verbs."
}
