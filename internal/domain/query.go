package domain

import "encoding/json"

// QueryResult is the rows that a query gave, as far as they were kept.
type QueryResult struct {
	// SQL is what was run.
	SQL string
	// Columns are those of the rows, without internal ones.
	Columns []Column
	// Rows are JSON objects with a key for each column, and last "__metadata" with the score.
	Rows []json.RawMessage
	// Truncated says that there were more rows.
	Truncated bool
	// Total counts the rows of a truncated result; 0 if that took too long.
	Total int64
	// Rewritten says that SQL is not the query itself: the join guard rewrote it.
	Rewritten bool
	// Tables are the names of the datasets that were read, and Sources their versions.
	Tables  []string
	Sources []Source
	// Notes are sentences about the result: which rows count once although joins repeat
	// them, and how many rows joins leave out.
	Notes []string
}

// Source is a dataset as a query read it: its name with owner and namespace, its version, and
// a hash of its files. An attachment has its name alone, and so has a dataset of which the caller sees
// only some rows.
type Source struct {
	Dataset string `json:"dataset"`
	Version int64  `json:"version,omitempty"`
	Hash    string `json:"hash,omitempty"`
}

// Period is from one day to another, both included, as 2025-01-31.
type Period struct{ From, To string }

// PeriodColumn is the column of dates by which a period selects rows.
type PeriodColumn struct {
	Dataset string `json:"dataset"`
	Column  string `json:"column"`
}

// RowPage is a page of a dataset's rows.
type RowPage struct {
	Limit, Offset int64
	// Sort is the column that orders the rows, "" for their own order.
	Sort       string
	Descending bool
}
