package clickhouse

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The engine's own defaults are for a large server. These are for a laptop that has other things
// to do: a hard limit on memory, small caches, few background threads. Table and query settings
// (deduplication, fsync) are not here: they stand with the tables.
const (
	defaultMemoryLimit = 2 << 30
	minMemoryLimit     = 256 << 20
	markCacheSize      = 64 << 20
	otherCacheSize     = 16 << 20
	backgroundThreads  = 2
	logFileSize        = 10 << 20 // times two files for the log and two for its errors
)

// setting is one element of the engine's configuration; a value or children.
type setting struct {
	name     string
	value    string
	children []setting
}

// settings is the configuration file of a child. The token is how a client knows that the
// server answering on a port is this one.
func settings(dataDir, token string, memoryLimit int64) []setting {
	number := func(name string, n int64) setting { return setting{name: name, value: strconv.FormatInt(n, 10)} }
	return []setting{
		{name: "logger", children: []setting{
			{name: "log", value: filepath.Join(dataDir, "clickhouse.log")},
			{name: "errorlog", value: filepath.Join(dataDir, "clickhouse.err.log")},
			number("size", logFileSize),
			number("count", 1),
			{name: "console", value: "false"}, // else it would also log to a terminal
		}},
		{name: "users_config", value: usersFile(dataDir)},
		{name: "macros", children: []setting{{name: tokenMacro, value: token}}},
		number("max_server_memory_usage", memoryLimit),
		number("mark_cache_size", markCacheSize),
		number("index_mark_cache_size", otherCacheSize),
		number("primary_index_cache_size", markCacheSize),
		number("vector_similarity_index_cache_size", otherCacheSize),
		number("text_index_tokens_cache_size", otherCacheSize),
		number("compiled_expression_cache_size", otherCacheSize),
		number("background_pool_size", backgroundThreads),
		number("background_schedule_pool_size", 2*backgroundThreads),
		number("max_connections", 256),
		{name: "merge_tree", children: []setting{
			// Their defaults count on 16 background threads; with fewer, mutations would never run.
			number("number_of_free_entries_in_pool_to_execute_mutation", 1),
			number("number_of_free_entries_in_pool_to_lower_max_size_of_merge", 1),
			number("number_of_free_entries_in_pool_to_execute_optimize_entire_partition", 1),
		}},
	}
}

// tokenMacro is the macro that holds a server's token.
const tokenMacro = "weir_token"

func writeSettings(file string, list []setting) error {
	var text strings.Builder
	text.WriteString("<!-- Written by weir at each start; changes are lost. -->\n<clickhouse>\n")
	appendSettings(&text, list, "  ")
	text.WriteString("</clickhouse>\n")
	return os.WriteFile(file, []byte(text.String()), 0o600)
}

func appendSettings(text *strings.Builder, list []setting, indent string) {
	for _, s := range list {
		text.WriteString(indent + "<" + s.name + ">")
		if len(s.children) > 0 {
			text.WriteByte('\n')
			appendSettings(text, s.children, indent+"  ")
			text.WriteString(indent)
		} else {
			_ = xml.EscapeText(text, []byte(s.value))
		}
		text.WriteString("</" + s.name + ">\n")
	}
}

// arguments is the command line after `clickhouse local` that makes a server of it. It is an
// interactive session on a terminal that nobody types into, for two reasons: the server lives until
// its parent closes the terminal or dies, and only a session that is not interactive ends the whole
// process for an exception of any one connection (ClickHouse issue 115666): for a client that is cut
// off in mid-query, or names a database that is not there.
func arguments(configFile, storeDir string, ports ports) []string {
	return []string{
		"--config-file", configFile,
		"--log-level", "information", // the setting of the file is not read by clickhouse local
		"--path", storeDir,
		"--listen_host", loopback,
		"--tcp_port", strconv.Itoa(ports.native),
		"--http_port", strconv.Itoa(ports.http),
		"--query", "SYSTEM START LISTEN TCP",
		"--query", "SYSTEM START LISTEN HTTP",
		"--interactive",
		"--disable_suggestion",
		"--history_file", "/dev/null",
		"--progress", "off",
		"--progress-table", "off",
	}
}
