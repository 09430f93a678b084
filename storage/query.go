package storage

import (
	"context"
	"encoding/json"
	"time"
)

// QueryResult is the rows that a query gave, as far as they were kept.
type QueryResult struct {
	// SQL is what was run.
	SQL string
	// Columns are those of the rows, without internal ones.
	Columns []Column
	// Rows are JSON objects.
	Rows []json.RawMessage
	// Truncated says that there were more rows.
	Truncated bool
	// Total counts the rows of a truncated result; 0 if that took too long.
	Total int64
	// Rewritten says that SQL is not the query itself: the join guard rewrote it.
	Rewritten bool
	// Notes are sentences about the result: which rows count once although joins repeat
	// them, and how many rows joins leave out.
	Notes []string
}

// RowPage is a page of a dataset's rows.
type RowPage struct {
	Limit, Offset int64
	// Sort is the column that orders the rows, "" for their own order.
	Sort       string
	Descending bool
}

// DownloadFormat is a format of a file with all rows of a dataset.
type DownloadFormat string

// The formats of downloads.
const (
	DownloadCSV     DownloadFormat = "csv"
	DownloadParquet DownloadFormat = "parquet"
)

// Download says how the rows of a dataset become a file.
type Download struct {
	Format DownloadFormat
	// EscapeFormulas puts a quote before the texts of a CSV file that a spreadsheet would run
	// as formulas.
	EscapeFormulas bool
}

// SavedKind is what a saved query is for.
type SavedKind string

// The kinds of saved queries.
const (
	// VerifiedQuery answers its question, whoever asks it. A question has at most one.
	VerifiedQuery SavedKind = "verified"
	// PinnedQuery is on the board of its namespace.
	PinnedQuery SavedKind = "pinned"
)

// Limit is how many queries of a kind a namespace may have.
func (k SavedKind) Limit() int {
	if k == PinnedQuery {
		return 24
	}
	return 1000
}

// Limits of a saved query: characters of its title, bytes of its SQL.
const (
	MaxQueryTitle = 200
	MaxQuery      = 64 << 10
)

// SavedQuery is a query that an editor of a namespace saved, with the question that it
// answers.
type SavedQuery struct {
	ID       string
	Title    string
	Question string
	Query    string
	// Datasets are the ids of those that it reads.
	Datasets []string
	SavedBy  string
	SavedAt  time.Time
}

// SavedQueries keeps the saved queries of namespaces.
type SavedQueries interface {
	// SavedQueries lists those of a kind, oldest first, and what the caller may do to the
	// namespace. Who may read only some datasets sees the queries that read no others.
	SavedQueries(ctx context.Context, caller Caller, in NamespaceRef, kind SavedKind) ([]SavedQuery, Access, error)
	// SaveQuery is for the owner and editors of the namespace. ErrTooMany beyond the limit.
	SaveQuery(ctx context.Context, caller Caller, in NamespaceRef, kind SavedKind, query SavedQuery) error
	// DeleteSavedQuery is for the owner and editors of the namespace.
	DeleteSavedQuery(ctx context.Context, caller Caller, in NamespaceRef, kind SavedKind, id string) error
	// VerifiedQuery gives the SQL that was verified for a question; ErrNotFound when there is
	// none. The caller may see the namespace, and not all that the query reads.
	VerifiedQuery(ctx context.Context, caller Caller, in NamespaceRef, question string) (string, error)
}
