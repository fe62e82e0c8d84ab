package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"weir/internal/clickhouse"
	"weir/internal/clickhouse/chtest"
)

// Codes of ClickHouse's errors.
const (
	accessDenied         = 497
	authenticationFailed = 516
	sessionLimit         = 700
)

func code(err error) int32 {
	var refused *ch.Exception
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// Whoever does not know the password does not get in: not as the engine's own session either, whose
// user has none.
func TestStrangersStayOutside(t *testing.T) {
	server := start(t, chtest.Config(t, t.TempDir()))
	for _, c := range []struct {
		user, password string
		want           int32
	}{
		{"", "", sessionLimit},
		{"default", "", sessionLimit},
		{"default", server.Access().Password, authenticationFailed},
		{clickhouse.User, "", authenticationFailed},
		{clickhouse.User, "guess", authenticationFailed},
		{"root", "", authenticationFailed},
	} {
		conn, err := ch.Open(&ch.Options{Addr: []string{server.NativeAddr()}, Auth: ch.Auth{Username: c.user, Password: c.password}})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Exec(context.Background(), "SYSTEM STOP LISTEN TCP"); code(err) != c.want {
			t.Errorf("as %q with password %q: %v; expected error %d", c.user, c.password, err, c.want)
		}
		_ = conn.Close()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+server.HTTPAddr(), strings.NewReader("select 1"))
		if err != nil {
			t.Fatal(err)
		}
		if c.user != "" {
			request.SetBasicAuth(c.user, c.password)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Errorf("over HTTP as %q with password %q: %s", c.user, c.password, answer.Status)
		}
	}
	exec(t, connect(t, server), "select 1")
}

// The password opens the databases and nothing beside them: no file, no other server, no program.
func TestClientsMayOnlyWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	cfg := chtest.Config(t, dir)
	cfg.Databases = []string{"weir"}
	server := start(t, cfg)
	conn := connect(t, server)
	exec(t, conn, "create database weir", "create table weir.t (x UInt64) engine MergeTree order by x",
		"create materialized view weir.v engine AggregatingMergeTree order by x as select x from weir.t",
		"insert into weir.t values (1)", "rename table weir.t to weir.u", "drop table weir.u sync")
	secret := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"select * from file('" + secret + "', LineAsString)",
		"select * from default.`" + secret + "`",
		"insert into function file('" + secret + "', CSV, 'x UInt8') values (1)",
		"create table weir.f (line String) engine File(LineAsString, '" + secret + "')",
		"create database weir engine Filesystem('" + filepath.Dir(secret) + "')",
		"select * from url('http://127.0.0.1:1/', CSV, 'x String')",
		"create table weir.f (line String) engine URL('http://127.0.0.1:1/', CSV)",
		"select * from remote('127.0.0.1', system.one)",
		"select * from s3('http://127.0.0.1:1/bucket/key.csv', CSV, 'x String')",
		"select * from mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
		"select * from sqlite('" + secret + "', 't')",
		"create dictionary weir.d (k UInt64) primary key k source(file(path '" + secret + "' format 'CSV')) lifetime(0) layout(flat())",
		"create function f as x -> x",
		"create user other",
		"grant all on *.* to weir",
		"backup table system.one to File('" + secret + ".backup')",
		"create database other",
		"system stop listen tcp",
		"system shutdown",
	} {
		if err := conn.Exec(context.Background(), query); code(err) != accessDenied {
			t.Errorf("%s: %v; expected that access is denied", query, err)
		}
	}
	for _, file := range []string{clickhouse.PasswordFile(dir), filepath.Join(dir, "users.xml"), filepath.Join(dir, "clickhouse.xml")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; expected mode 0600", file, info.Mode(), err)
		}
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", server.PID()))
	if err != nil || strings.Contains(string(arguments), server.Access().Password) {
		t.Errorf("the command line %q shows the password (%v)", arguments, err)
	}
}
