package dialog

import (
	"fmt"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

// Limits of what a refusal names.
const (
	maxUnread     = 8
	maxUnreadText = 40
)

// EmptyQuestion refuses a question without words.
func EmptyQuestion() error {
	return llm.Unanswerable("The question has no words. Ask something about the data.")
}

// replies are words that answer a question and ask none.
var replies = catalog.WordSet("yes no yep yeah nope ok okay sure right correct exactly true false please")

// IsReply reports whether a text answers a question and asks none: "yes", or the number of
// an option.
func IsReply(tokens []link.Token) bool {
	words := wordsOf(tokens)
	return len(words) == 1 && isNumber(words[0]) ||
		len(words) > 0 && !slices.ContainsFunc(words, func(t link.Token) bool { return !replies[t.Lower] })
}

// ReplyOnly refuses a reply without a question.
func ReplyOnly() error {
	return llm.Unanswerable("This is a reply and no question. Ask the whole question in the words that you mean.")
}

// TooLong refuses a question with too many words.
func TooLong(most int) error {
	return llm.Unanswerable("The question is too long: at most %d words are read. Ask it in fewer.", most)
}

// SeveralQuestions refuses several questions at once for a single query.
func SeveralQuestions() error {
	return llm.Unanswerable("These are several questions. Ask one at a time, or ask the agent assistant, which answers them one by one.")
}

// NoData refuses a question if there is no dataset.
func NoData() error {
	return llm.Unanswerable("There is no data to answer from. Add a dataset, or have one shared with you, and ask again.")
}

// NoRows refuses a question about a dataset that has no rows.
func NoRows(dataset string) error {
	return llm.Unanswerable("%s has no rows. Add some, and ask again.", dataset)
}

// NoPreviousQuestion refuses a question that points at one that was not asked: [HasBackReference].
func NoPreviousQuestion() error {
	return llm.Unanswerable("The question points at something that was not named before. Ask in full, with the name of what you mean.")
}

// Refusal has what is known of a question that was not understood.
type Refusal struct {
	// Unread are the words that were not understood, and Names are names of the data that
	// are similar to them.
	Unread, Names []string
	// Guess describes the most likely reading; "" for none.
	Guess string
	// Meant are questions that the asker may mean, and Examples other questions about the
	// data.
	Meant, Examples []string
}

// NotUnderstood refuses a question, and names the words that were not understood, and
// questions that can be asked.
func NotUnderstood(r Refusal) error {
	text := "It is not clear what the question asks for."
	switch {
	case len(r.Unread) > 0:
		text = "Not understood: " + quoteWords(r.Unread) + "."
	case r.Guess != "":
		text = "The question is not clear. It may mean: " + r.Guess + "."
	}
	switch {
	case len(r.Names) > 0:
		text += " Did you mean “" + strings.Join(r.Names, "” or “") + "”?"
	case len(r.Examples) > 0:
		text += canAsk(r.Examples)
	}
	questions := slices.Clone(r.Meant)
	for _, example := range r.Examples {
		if !slices.Contains(questions, example) {
			questions = append(questions, example)
		}
	}
	return &llm.UnanswerableError{Reason: text, Words: r.Unread, Suggestions: questions}
}

// canAsk names questions that can be asked; "" for none.
func canAsk(examples []string) string {
	if len(examples) == 0 {
		return ""
	}
	return " You can ask, for example: “" + strings.Join(examples, "” or “") + "”"
}

// maxSamples is how many values a refusal shows of a column.
const maxSamples = 2

// Unreadable refuses a question for figures of a column whose texts have none, or cannot be
// compared, and names questions that can be asked.
func Unreadable(c *catalog.Column, table string, examples []string) error {
	text := "The column “" + c.Name + "” of " + table + " is text"
	samples := c.Doubtful
	if c.Doubt == catalog.NoDoubt {
		samples = c.Values
	}
	if samples = samples[:min(len(samples), maxSamples)]; len(samples) > 0 {
		text += ", such as " + quoteWords(samples)
	}
	return &llm.UnanswerableError{Reason: text + strings.ReplaceAll(doubtTexts[c.Doubt], "COLUMN", c.Name) + "." + canAsk(examples), Suggestions: examples}
}

// doubtTexts say why texts cannot be compared, and what to do.
var doubtTexts = map[catalog.Doubt]string{
	catalog.NoDoubt:       ": it has no sum, average, highest or lowest value",
	catalog.MixedUnits:    ": its numbers have different units, so they cannot be compared. Load them in one unit",
	catalog.EitherDecimal: ": its numbers can be whole or have a fraction. Load the file again with the type, on the page or with parley ingest --retype \"COLUMN=integer\" or \"COLUMN=number\"",
	catalog.EitherOrder:   ": its dates can be d/m/y or m/d/y. Load the file again with the type, on the page or with parley ingest --retype \"COLUMN=date:dmy\" or \"COLUMN=date:mdy\"",
}

// NoGroups refuses a question for the average of figures of groups that are not clear.
func NoGroups(groups string) error {
	return &llm.UnanswerableError{Reason: "The question asks for an average of groups, and it is not clear which. Ask for the groups first.", Suggestions: []string{groups}}
}

// NothingFound refuses a question whose most likely reading has no rows.
func NothingFound(reading string) error {
	return llm.Unanswerable("Nothing was found. The question was read as: %s. If that is what you mean, the data has none; otherwise ask in other words.", reading)
}

// unusedPrefix starts the sentence of [Unused].
const unusedPrefix = " Not used: "

// Unused names the words of a question that its reading does not use; "" for none.
func Unused(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return unusedPrefix + quoteWords(words) + "."
}

// combinedPrefix starts the sentence of [Combined].
const combinedPrefix = " Combined datasets: "

// Combined names the datasets whose rows are combined; "" for none.
func Combined(datasets []string) string {
	if len(datasets) == 0 {
		return ""
	}
	return combinedPrefix + quoteWords(datasets) + "."
}

// Ambiguous refuses a question with two readings, which are described in words, and suggests
// a question for each.
func Ambiguous(first, second string, questions ...string) error {
	text := fmt.Sprintf("The question can be read in two ways: (1) %s; (2) %s. Ask again in words that fit only the one you mean.", first, second)
	return &llm.UnanswerableError{Reason: text, Suggestions: questions}
}

// quoteWords quotes words, up to a limit.
func quoteWords(words []string) string {
	quoted := make([]string, 0, maxUnread)
	for _, w := range words[:min(len(words), maxUnread)] {
		w = strings.Join(strings.Fields(w), " ")
		if letters := []rune(w); len(letters) > maxUnreadText {
			w = string(letters[:maxUnreadText-1]) + "…"
		}
		quoted = append(quoted, "“"+w+"”")
	}
	if len(words) > maxUnread {
		return strings.Join(quoted, ", ") + " and more"
	}
	return enumerate(quoted)
}
