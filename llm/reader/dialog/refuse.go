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
	return llm.Unanswerable("The question has no words.")
}

var (
	// greetings and thanks are words of texts that ask nothing.
	greetings = catalog.WordSet("hi hello hey there good morning afternoon evening bye goodbye")
	thanks    = catalog.WordSet("thanks thank you very much many a lot so great perfect nice cool awesome good excellent well done cheers wow super")
	// changes are first words of commands that change data.
	changes = catalog.WordSet("delete remove erase drop truncate update insert overwrite rename")
)

// NoQuestion answers a text that asks for no data: thanks, a greeting, words about the answers, and
// a command that changes data, which can also refer to an earlier question; nil for others.
func NoQuestion(tokens []link.Token, isFirst bool) error {
	words := wordsOf(tokens)
	all := func(of map[string]bool) bool {
		return !slices.ContainsFunc(words, func(t link.Token) bool { return !of[t.Lower] })
	}
	if len(words) > 1 && words[0].Lower == "please" {
		words = words[1:]
	}
	switch {
	case len(words) == 0 || len(words) > maxUnread:
		return nil
	case all(greetings):
		return llm.Unanswerable("Hello, I answer questions about your data.")
	case all(thanks):
		return llm.Unanswerable("You are welcome.")
	case isFirst && changes[words[0].Lower] && len(words) > 1 && !matchesPhrase(words, 1, "in|of|by"):
		return llm.Unanswerable("I only read the data and change nothing: you can delete or replace datasets on the page, or with the commands rm and ingest.")
	case matchesPhrase(words, 0, "you are|re|suck") || strings.HasPrefix(words[0].Lower, "you'") && !strings.HasSuffix(tokens[len(tokens)-1].Text, "?"):
		return llm.Unanswerable("I am sorry that I did not help: tell me in other words what you want to know.")
	}
	return nil
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
	// Meant are questions that the asker may mean.
	Meant []string
}

// NotUnderstood refuses a question, and names the words that were not understood, and
// questions that the asker may mean.
func NotUnderstood(r Refusal) error {
	text := "I do not understand what the question asks for."
	switch {
	case len(r.Unread) > 0 && len(r.Names) > 0:
		text = "I found nothing for " + quoteWords(r.Unread) + " in the data. Did you mean “" + strings.Join(r.Names, "” or “") + "”?"
	case len(r.Unread) > 0:
		text = "I found nothing for " + quoteWords(r.Unread) + " in the data."
	case r.Guess != "":
		text = "I am not sure what you mean. Is it the " + r.Guess + "?"
	}
	return &llm.UnanswerableError{Reason: text, Words: r.Unread, Suggestions: r.Meant}
}

// WithExamples adds questions that can be asked to a refusal that suggests none.
func WithExamples(refused *llm.UnanswerableError, examples []string) error {
	with := *refused
	with.Reason, with.Suggestions = with.Reason+canAsk(examples), examples
	return &with
}

// canAsk names questions that can be asked; "" for none.
func canAsk(examples []string) string {
	if len(examples) == 0 {
		return ""
	}
	quoted := make([]string, len(examples))
	for i, example := range examples {
		quoted[i] = "“" + example + "”"
	}
	return " You can ask, for example: " + joinList(quoted, "or")
}

// maxSamples is how many values a refusal shows of a column.
const maxSamples = 2

// Unreadable refuses a question for figures of a column whose texts have none, or cannot be
// compared.
func Unreadable(c *catalog.Column, table string) error {
	text := "The column “" + c.Name + "” of " + table + " is text"
	samples := c.Doubtful
	if c.Doubt == catalog.NoDoubt {
		samples = c.Values
	}
	if samples = samples[:min(len(samples), maxSamples)]; len(samples) > 0 {
		text += ", such as " + quoteWords(samples)
	}
	return llm.Unanswerable("%s", text+strings.ReplaceAll(doubtTexts[c.Doubt], "COLUMN", c.Name)+".")
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
