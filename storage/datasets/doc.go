// Package datasets stores datasets as Parquet files, adds to them, and runs untrusted SQL over
// them.
//
// A statement passes three isolation layers, and each alone keeps the service up:
//
//  1. The package sqlcheck checks the statement's syntax tree against lists of what is
//     allowed: one SELECT, over the tables given, with known functions.
//  2. A process of the package sandbox runs it: this binary again, without environment,
//     network or files to write, as another user, with bounded memory, killed at the
//     deadline. Files are ingested in such a process too.
//  3. DuckDB in that worker, the package engine, can open only the tables' files.
//
// DuckDB never opens in the server's process: this package does not import the engine, and
// parses in a worker too. Its callers decide which datasets a user may read.
package datasets
