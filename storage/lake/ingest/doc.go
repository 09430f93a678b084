// Package ingest turns files and rows that people bring into immutable Parquet
// files, strictly: a source is taken whole or, where it cannot be read, refused
// whole, with the line and the reason in words for a person.
//
// It reads every source twice. A first pass in Go decides the format, checks
// each byte and row, and learns from all rows, never from a sample, what types
// the columns have. Then DuckDB reads the source with exactly those types and
// writes Parquet. It does not know who may ingest, where files are listed, or
// when they become visible.
//
// # Contract for the reader
//
// A file once written is never rewritten when a later append widens a column.
// So a dataset's files can disagree about a column's type, and can lack columns
// that came later. Whoever reads them uses the SQL that [Query] gives, or does
// the same: read all files in order with union_by_name, cast every column to
// the physical type of its type in [Result].Columns, and show JSON columns as
// JSON. In particular:
//
//   - JSON columns are plain text in the files, so that text and JSON unite;
//     cast them to JSON.
//   - A column of type NULL has had no value yet. It is in no file: read NULL.
//   - The session's TimeZone must be UTC: instants that became text depend on it.
//
// # Types
//
// A column has the narrowest type that holds all its values, and is text where
// no other does, be it for a single value of millions, wherever it stands.
// Digits that a number would not give back, such as 007, are text.
//
// Columns have one of: BOOLEAN, BIGINT, DOUBLE, DECIMAL(p,s), VARCHAR, DATE,
// TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP WITH TIME ZONE, BLOB, JSON, NULL, a
// list of one of them such as BIGINT[], and from Parquet also STRUCT and MAP
// types as DuckDB writes them.
package ingest
