// Package lake keeps datasets as Parquet files, adds to them, and answers SQL that
// nobody vouches for over them, without trusting it with anything but those files'
// rows.
//
// Three isolation layers are around a statement, and each alone keeps the service up:
//
//  1. The package sqlcheck reads the statement's syntax tree and refuses whatever is
//     not on its lists: one SELECT, over the tables given, with known functions.
//  2. A process of the package worker runs it: this binary again, without environment,
//     network, files to write or a user of its own, with bounded memory, killed at the
//     deadline. Files are ingested in such a process too.
//  3. DuckDB in that worker, the package engine, is closed to everything but the
//     tables' files.
//
// DuckDB never opens in the process that calls this package, which does not import the
// engine: parsing too is done in a worker. Which datasets a caller may read is for the
// caller of this package to know.
package lake
