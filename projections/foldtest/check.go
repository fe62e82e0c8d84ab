package foldtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Table reads a query's rows as text, one line per row with its columns side by
// side.
func Table(t testing.TB, conn driver.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Query(context.Background(), "SELECT arrayStringConcat(arrayMap(x -> toString(x), [*]), ' | ') FROM ("+query+")")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// Same fails the test when got is not want, line by line.
func Same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s:\n%s\ninstead of\n%s", what, g, w)
	}
}

// Shuffled is a copy of list in another order, which seed decides.
func Shuffled[T any](list []T, seed uint64) []T {
	out := append([]T(nil), list...)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// Row writes chosen columns of a row of Rows, for comparing.
func Row(row map[string]any, names ...string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		v := row[n]
		if text, ok := v.(string); ok && len(text) == 16 {
			v = fmt.Sprintf("%x", text) // an id
		}
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, " | ")
}
