// Package native inserts whole blocks of columns into ClickHouse.
//
// clickhouse-go copies every value twice on its way to the socket, into a column
// that grows from nothing for each insert and from there into a buffer. Here a
// column is kept as it goes over the wire, in memory that the next block uses
// again, so a value is copied once, and the kernel takes all columns as they lie
// ([Strings], [Fixed], slices of numbers). What is rare or small may still be a
// slice of any Go type that clickhouse-go's columns take.
//
// A [Pool] speaks the native protocol with ClickHouse's own package ch-go/proto,
// and only the part of it that an INSERT needs: hello, query, one block, end.
package native
