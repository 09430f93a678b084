// Package engine is DuckDB, and its only home: what query workers and ingest workers
// do with the requests of the package worker. It runs in those processes alone, with
// SQL and files that nobody has looked at; the server imports it only to become one of
// them.
package engine
