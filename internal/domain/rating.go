package domain

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
