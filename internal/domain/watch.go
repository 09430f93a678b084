package domain

import (
	"encoding/json"
	"time"
)

// MaxUserWatches limits the watches of a user.
const MaxUserWatches = 50

// Watch asks a pinned query again for a user, with the rights of the user, and says what has
// changed in its rows.
type Watch struct {
	// DailyAt is the minute of the day, in UTC, at which the query is asked; nil for each change of the
	// data.
	DailyAt *int
	// Push is where the runs are sent that say what has changed; nil for nowhere. Its RunID is not used.
	Push *PushConfig
	// ConversationID is the conversation of these runs, from the first one on.
	ConversationID string
	// AskedAt is when the query was last asked; zero before.
	AskedAt time.Time
	// Change says what changed at ChangedAt; "" if nothing has yet.
	Change    string
	ChangedAt time.Time
	// Problem says why the query was not answered the last time; "" if it was.
	Problem string
}

// Next returns when the watch is due after a time; zero if that depends on the data.
func (w Watch) Next(after time.Time) time.Time {
	if w.DailyAt == nil {
		return time.Time{}
	}
	after = after.UTC()
	next := time.Date(after.Year(), after.Month(), after.Day(), 0, *w.DailyAt, 0, 0, time.UTC)
	if !next.After(after) {
		next = next.AddDate(0, 0, 1)
	}
	return next
}

// DueWatch is a watch that a process has claimed, with its query.
type DueWatch struct {
	Watch
	Caller    Caller
	Namespace NamespaceRef
	Query     SavedQuery
	// Due identifies the change of the data, or the time of the day, that it is asked for.
	Due time.Time
	// Found is the result of the last time, as JSON; nil before.
	Found json.RawMessage
	// RetryAt is when it is asked again although the data has not changed; zero for not.
	RetryAt time.Time
}

// Standing is a question that a watch asks again, since the rows of its query have changed.
type Standing struct {
	// Query is run as it is.
	Query string
	// Change says what has changed.
	Change string
}
