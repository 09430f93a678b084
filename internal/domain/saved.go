package domain

import (
	"context"
	"time"
)

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
	// VerifiedQuery returns the SQL that was verified for a question; ErrNotFound when there is
	// none in the caller's list.
	VerifiedQuery(ctx context.Context, caller Caller, in NamespaceRef, question string) (string, error)
}
