// Package clickhouse runs ClickHouse as a child process for a single machine.
//
// [Find] says which engine there is: a clickhouse program, or the engine's shared library,
// fetched once into a cache folder. [Start] runs it on loopback with its data in one folder,
// restarts it when it dies, and ends it with its parent. It listens on
// 127.0.0.1 only, for clients that know its password: see [Access].
//
// With the shared library the child is this very binary, executed again: a program that calls
// Start must call [RunChildIfAsked] first thing in main.
package clickhouse
