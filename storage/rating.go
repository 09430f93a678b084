package storage

import (
	"context"
	"time"
)

// maxComment is the most characters of a rating's comment.
const maxComment = 10_000

// Rating is what the one who asked thinks of a completed run.
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

// RatingTurn is the right to rate a run: there is one at a time, so that the
// record and the tracing store are written in the same order.
type RatingTurn struct {
	RunID string
	// Fence tells this turn from the later ones.
	Fence int64
	// Day is the one under which the tracing store is to keep the rating, in the
	// form 2006-01-02: today, or a later one that was used before by another
	// clock. "" where no tracing store is asked.
	Day string
	// Former are the other days under which it may hold a rating of this run,
	// those of turns that never ended too.
	Former []string
}

// Ratings keeps how runs were rated, one rating each. A run that the caller may
// not see is not found: see Runs.
type Ratings interface {
	// BeginRating gives the caller the turn to rate a run. It lasts that long at
	// most. ErrRunNotCompleted when the run is not completed, ErrConflict while
	// somebody else has the turn. today is "" where no tracing store is asked.
	BeginRating(ctx context.Context, caller Caller, runID, today string, lasts time.Duration) (RatingTurn, error)
	// EndRating records a rating, in the place of an earlier one, and ends the
	// turn. ErrConflict when the turn is over. A rating without a score leaves
	// the record of the earlier one's as it is.
	EndRating(ctx context.Context, caller Caller, turn RatingTurn, rating Rating) error
	// LeaveRating ends a turn without a rating. What the tracing store may hold
	// by now is among the former days of the turns to come.
	LeaveRating(ctx context.Context, turn RatingTurn) error
	// Rating gives the rating of a run; ErrNotFound when it has none.
	Rating(ctx context.Context, caller Caller, runID string) (Rating, error)
}
