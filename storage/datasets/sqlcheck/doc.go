// Package sqlcheck decides, from a statement's syntax tree, whether it may run: one
// SELECT over the tables given, with known functions. What it refuses, it refuses with
// a reason and near misses for whoever wrote it. It knows DuckDB's trees and messages,
// and needs no DuckDB.
package sqlcheck
