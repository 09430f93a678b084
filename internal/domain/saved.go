package domain

import "time"

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
	// Wide says that a pinned query is as wide as its board.
	Wide bool
	// Watch is that of the user who looks; nil for none.
	Watch *Watch
}

// PinChange changes how a pinned query is shown; nil leaves something as it is.
type PinChange struct {
	Title *string
	Wide  *bool
	// Place is the number of those before it on the board.
	Place *int
}
