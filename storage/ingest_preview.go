package storage

import "encoding/json"

// FilePreview is what an ingestion would make of a file.
type FilePreview struct {
	Tables    []TablePreview
	Encoding  string
	Delimiter string
	HeaderRow int
}

// TablePreview is a table of a file. One that cannot be read has no columns, and a warning
// that says why.
type TablePreview struct {
	Name     string
	Columns  []ColumnPreview
	Rows     []json.RawMessage
	RowCount int64
	Warnings []IngestWarning
}

// ColumnPreview is a column of a table, with some of its first values.
type ColumnPreview struct {
	ColumnReport
	Examples []json.RawMessage
}
