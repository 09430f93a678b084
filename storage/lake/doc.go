// Package lake answers SQL that nobody vouches for, over datasets kept as
// Parquet files, without trusting it with anything but those files' rows.
//
// Three walls stand in its way, and each alone keeps the service up:
//
//  1. Validate reads the statement's syntax tree and refuses whatever is not on
//     its lists: one SELECT, over the tables given, with known functions.
//  2. A worker process runs it: this binary again, without environment, network,
//     files to write or a user of its own, with bounded memory, killed at the
//     deadline.
//  3. DuckDB in that worker is closed to everything but the tables' files.
//
// DuckDB never opens in the process that calls this package: parsing too is
// done in a worker. Which datasets a caller may read, and where their files
// are, is for the caller of this package to know.
package lake
