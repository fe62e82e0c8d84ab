package clickhouse

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// childEnv marks a process as the engine child; its value is the library's path.
const childEnv = "WEIR_CLICKHOUSE_CHILD"

// RunChildIfAsked returns at once in an ordinary process. In one that [Start] has executed to be
// the engine it loads the library, serves until standard input ends, and exits. It belongs first
// in main, before flags, files and other goroutines.
func RunChildIfAsked() {
	library := os.Getenv(childEnv)
	if library == "" {
		return
	}
	os.Unsetenv(childEnv)
	if err := serveLibrary(library, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveLibrary calls the library's main function with a command line; it returns when the server
// has ended.
func serveLibrary(library string, args []string) error {
	runtime.LockOSThread()
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("the ClickHouse library can't be loaded (it needs glibc 2.31 or later; if the file is damaged, delete it and it is fetched again): %w", err)
	}
	for _, name := range []string{"chdb_query_cmdline", "chdb_result_error"} {
		if _, err := purego.Dlsym(handle, name); err != nil {
			return fmt.Errorf("%s is not the ClickHouse library expected; delete it and it is fetched again: %w", library, err)
		}
	}
	var queryCommandLine func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	var resultError func(result unsafe.Pointer) string
	purego.RegisterLibFunc(&queryCommandLine, handle, "chdb_query_cmdline")
	purego.RegisterLibFunc(&resultError, handle, "chdb_result_error")

	argv := cStrings(append([]string{"clickhouse"}, args...))
	result := queryCommandLine(int32(len(argv)-1), unsafe.Pointer(&argv[0])) //nolint:gosec // a C argv, kept alive below
	runtime.KeepAlive(argv)
	if result == nil {
		return fmt.Errorf("the ClickHouse library returned no result")
	}
	if text := resultError(result); text != "" {
		return fmt.Errorf("%s", text)
	}
	return nil
}

// cStrings makes a C argv: zero-terminated strings and a final nil.
func cStrings(args []string) []*byte {
	argv := make([]*byte, 0, len(args)+1)
	for _, arg := range args {
		argv = append(argv, &append([]byte(arg), 0)[0])
	}
	return append(argv, nil)
}
