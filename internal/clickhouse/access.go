package clickhouse

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// User is the only one who gets in over the network.
const User = "weir"

// Access is how a client gets in: where the native protocol is spoken, and as whom.
type Access struct {
	Addr     string // host:port
	User     string // "" is a server's default user
	Password string
}

// Auth is Access as clickhouse-go takes it.
func (a Access) Auth(database string) clickhouse.Auth {
	return clickhouse.Auth{Database: database, Username: a.User, Password: a.Password}
}

// PasswordFile holds the password of [User] while a server runs on the data folder: for whoever may
// read that folder and wants to ask the engine something.
func PasswordFile(dataDir string) string { return filepath.Join(dataDir, "password") }

// writeAccess writes the password for people and the users for the engine.
func writeAccess(cfg Config) error {
	if err := os.WriteFile(PasswordFile(cfg.DataDir), []byte(cfg.Password+"\n"), 0o600); err != nil {
		return err
	}
	return writeSettings(usersFile(cfg.DataDir), users(cfg))
}

func usersFile(dataDir string) string { return filepath.Join(dataDir, "users.xml") }

// tableEngines are those the read models are made with. Engines that reach files, other servers or
// programs are not among them.
var tableEngines = []string{"Atomic", "MergeTree", "AggregatingMergeTree", "MaterializedView", "View", "Memory"}

// users are the two that the engine knows.
//
// Its own session is the user default, from 127.0.0.1 and without a password: neither can be
// changed. So that nobody else becomes this user, it may have one session, which is taken before
// anything listens; and all it may do is to start listening.
//
// Clients are the user weir, with a password, and may do what making, filling and reading the given
// databases takes. They may not read or write files, reach other servers or run programs.
func users(cfg Config) []setting {
	network := setting{name: "networks", children: []setting{{name: "ip", value: loopback}}}
	hash := sha256.Sum256([]byte(cfg.Password))
	var rights []setting
	grant := func(what string) { rights = append(rights, setting{name: "query", value: "GRANT " + what}) }
	for _, name := range cfg.Databases {
		grant("SHOW, SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP, TRUNCATE, OPTIMIZE ON " + name + ".*")
	}
	grant("SELECT ON system.*")
	for _, engine := range tableEngines {
		grant("TABLE ENGINE ON " + engine)
	}
	for _, more := range cfg.Grants {
		grant(more)
	}
	return []setting{
		{name: "profiles", children: []setting{
			{name: "default"},
			{name: "session", children: []setting{{name: "max_sessions_for_user", value: "1"}}},
		}},
		{name: "quotas", children: []setting{{name: "default"}}},
		{name: "users", children: []setting{
			{name: "default", children: []setting{
				{name: "password"}, network, {name: "profile", value: "session"}, {name: "quota", value: "default"},
				{name: "grants", children: []setting{{name: "query", value: "GRANT SYSTEM LISTEN ON *.*"}}},
			}},
			{name: User, children: []setting{
				{name: "password_sha256_hex", value: hex.EncodeToString(hash[:])}, network,
				{name: "profile", value: "default"}, {name: "quota", value: "default"},
				{name: "grants", children: rights},
			}},
		}},
	}
}
