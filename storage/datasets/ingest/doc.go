// Package ingest converts files and rows to immutable Parquet files. It ingests
// a source as a whole, or refuses it as a whole with the line and the reason.
// Who may ingest, and when files become visible, is not its concern.
//
// Package source decodes a source and decides its format. Then it is read twice. The
// check of its format (check.go) reads every byte and row in Go, and finds the columns'
// types from all rows, not from a sample (kind.go, column.go). Then DuckDB reads it with
// exactly those types and writes Parquet (write.go).
//
// Cells of CSV are written as people like (column.go). The kinds and forms of all
// cells of a column decide how it is read (decide.go, cellformat.go), and the report
// says so. What is ambiguous stays text, unless other cells of the column or of
// the file decide.
//
// Package source unpacks a file that holds tables or texts (a workbook, an archive, an HTML
// page, an SQLite file, a document) into parts first, each a file of CSV, JSON or text,
// which is then checked like any other (parts.go).
//
// # Contract for readers
//
// An append that widens a column does not rewrite files. So the files of a
// dataset can have different types for a column, and can lack columns that were
// added later. Readers use the SQL of [Query], or do the same: read all files in
// order with union_by_name, cast every column to the physical type of its type
// in [Result].Columns, and show JSON columns as JSON. In particular:
//
//   - JSON columns are plain text in the files; cast them to JSON.
//   - A column of type NULL has no value yet. It is in no file: read NULL.
//   - The session's TimeZone must be UTC: instants that became text depend on it.
//
// # Types
//
// A column has the narrowest type that holds all its values. If none does, even
// for a single value of millions, it is text. Digits that a number would not
// preserve, such as 007, are text. A key of nested objects of JSON is a column with a dot
// between the keys, where all values of the outer ones are objects (jsonobjects.go).
//
// Columns have one of: BOOLEAN, BIGINT, DOUBLE, DECIMAL(p,s), VARCHAR, DATE,
// TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP WITH TIME ZONE, BLOB, JSON, NULL, a
// list of one of them such as BIGINT[], and from Parquet also STRUCT and MAP
// types as DuckDB writes them.
package ingest
