package domain

import (
	"context"
	"time"
)

// maxComment is the most characters of a rating's comment.
const maxComment = 10_000

// Rating is how the user who asked rates a completed run.
type Rating struct {
	RunID    string
	ThumbsUp bool
	// Comment is free text; "" for none.
	Comment string
	// ScoreID and ScoreDay say where the tracing store keeps the rating; both
	// are "" where it never had it.
	ScoreID  string
	ScoreDay string
}

// CheckComment returns what is wrong with a rating's comment, "" when it is
// right.
func CheckComment(comment string) string { return CheckText(comment, maxComment) }

// RatingLease is the exclusive right to rate a run, so that the record and the tracing
// store are written in the same order.
type RatingLease struct {
	Lease
	RunID string
	// Day is the one under which the tracing store must keep the rating, in the form
	// 2006-01-02: today, or a later one that another clock has used. "" without a
	// tracing store.
	Day string
	// Former are the other days under which it may have a rating of this run, also
	// those of leases that expired.
	Former []string
}

// Ratings stores how runs were rated, one rating each. A run that the caller may not see
// is not found.
type Ratings interface {
	// AcquireRating acquires the lease to rate a run. Its day is among the former days of later
	// leases, unless a rating is saved, since the tracing store may have a score. ErrRunNotCompleted when the run is
	// not completed, ErrConflict while another caller has the lease. today is "" without
	// a tracing store.
	AcquireRating(ctx context.Context, caller Caller, runID, today string, ttl time.Duration) (RatingLease, error)
	// SaveRating records a rating, in place of an earlier one, and ends the lease.
	// ErrConflict when the lease has expired. A rating without a score leaves the record
	// of an earlier score as it is.
	SaveRating(ctx context.Context, caller Caller, lease RatingLease, rating Rating) error
	// RenewLease with 0 ends the lease without a rating: see jobs.Leases.
	RenewLease(ctx context.Context, lease Lease, ttl time.Duration) error
	// Rating returns the rating of a run; ErrNotFound when it has none.
	Rating(ctx context.Context, caller Caller, runID string) (Rating, error)
}
