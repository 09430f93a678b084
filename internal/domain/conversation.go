package domain

import (
	"strings"
	"time"
)

// maxTitle is the most characters a conversation's title has.
const maxTitle = 80

// Conversation is a series of questions that build on each other. It begins with
// its first run and ends with its last. It belongs to one user; two users may have different ones under the same id.
type Conversation struct {
	ID        string
	Title     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// InlineResult is how large a result may be to come with the runs of a conversation, which
// are its turns: it is read without more than a few such results in memory.
const InlineResult = 16 << 10

// TurnPage says which turns of a conversation are wanted: the last Limit of those
// before the run Before. Zero values are for no limit, and for those to the last.
type TurnPage struct {
	Before string
	Limit  int
}

// CheckTitle returns what is wrong with a title that a user gives a conversation, "" when it
// is right.
func CheckTitle(title string) string {
	if strings.TrimSpace(title) == "" {
		return "must not be blank"
	}
	return CheckText(title, maxTitle)
}

// Title makes a conversation's title from its first question: one line, cut
// on a word.
func Title(question string) string {
	line := strings.Join(strings.Fields(question), " ")
	end, count := len(line), 0
	for at := range line {
		if count == maxTitle {
			end = at
			break
		}
		count++
	}
	cut := line[:end]
	if end < len(line) && line[end] != ' ' {
		if space := strings.LastIndexByte(cut, ' '); space > 0 {
			cut = cut[:space]
		}
	}
	return strings.TrimRight(cut, " ")
}
