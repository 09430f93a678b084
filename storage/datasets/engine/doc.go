// Package engine has DuckDB, as the only package: what query workers and ingest workers do
// with the requests of the package sandbox. It runs only in those processes; the server
// imports it to become one of them.
package engine
