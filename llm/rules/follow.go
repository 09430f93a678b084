package rules

import (
	"slices"
	"strings"

	"parley/llm"
)

// Words that a question which leans on the one before may start with.
var followStarts = []string{"and what about", "what about", "how about", "and how about", "and same for", "same for", "the same for", "and only", "but only", "only", "just", "and"}

var prepositions = set("in for at of from by on with per since after before")

// lastAsked is the last question of a conversation, written out where it leans on
// those before; "" where there is none.
func lastAsked(earlier []llm.Turn) string {
	before := ""
	for _, turn := range earlier {
		full, ok := "", false
		if before != "" {
			full, ok = follow(before, turn.Question)
		}
		if before = turn.Question; ok {
			before = full
		}
	}
	return before
}

// follow writes out a question that leans on the one before: "and in Berlin?",
// "what about 2020?", "how many are there in Rome?", "how many of them are red?".
func follow(before, now string) (string, bool) {
	now = strings.TrimRight(strings.TrimSpace(now), "?!. ")
	if full, ok := followThem(before, now); ok {
		return full, true
	}
	rest, found := now, false
	for _, start := range followStarts {
		if n := len(start); len(now) > n && strings.EqualFold(now[:n], start) && now[n] == ' ' {
			rest, found = strings.TrimSpace(now[n:]), true
			break
		}
	}
	tokens := tokenize(rest)
	if !found || len(tokens) == 0 {
		return "", false
	}
	if asking[tokens[0].lower] {
		return rest + "?", true
	}
	if full, ok := swapGroup(before, rest); ok {
		return full, true
	}
	return swap(before, rest), true
}

// followThem writes out what points at what the question before was about: "how
// many are there in Rome", "how many of them", "which of those", "their price".
func followThem(before, now string) (string, bool) {
	tokens := tokenize(now)
	subject := subjectOf(before)
	if subject == "" {
		return "", false
	}
	after := func(i int) string { return textFrom(now, tokens, i) }
	if end := phrase(tokens, 0, "how many|much of them|those|these"); end > 0 {
		return "How many " + subject + " that " + after(end) + "?", true
	}
	if end := phrase(tokens, 0, "and? which|who of them|those|these"); end > 0 {
		return "Which " + subject + " that " + after(end) + "?", true
	}
	if end := phrase(tokens, 0, "and? how many are|were|is|was there|they?"); end > 0 {
		if end == len(tokens) {
			return "How many " + subject + "?", true
		}
		if prepositions[tokens[end].lower] {
			return swap("How many "+subject, after(end)), true
		}
		return "How many " + subject + " " + after(end-1) + "?", true
	}
	if end := phrase(tokens, 0, "and? what is|are|was|were their"); end > 0 && end < len(tokens) {
		return "What is the " + after(end) + " of " + subject + "?", true
	}
	return "", false
}

// textFrom is a text from one of its tokens on.
func textFrom(text string, tokens []token, i int) string {
	at := 0
	for n, t := range tokens {
		next := strings.Index(text[at:], t.text)
		if next < 0 {
			return text
		}
		if at += next; n == i {
			return text[at:]
		}
		at += len(t.text)
	}
	return ""
}

// subjectOf is what a question is about, without the words that ask; "" when that
// cannot be told.
func subjectOf(question string) string {
	question = strings.TrimRight(strings.TrimSpace(question), "?!. ")
	tokens := tokenize(question)
	for _, start := range []string{"how many", "which", "list|show|find|give|display me? all? the?", "what are the"} {
		if end := phrase(tokens, 0, start); end > 0 && end < len(tokens) {
			return textFrom(question, tokens, end)
		}
	}
	return ""
}

// swapGroup puts other groups in the place of those of a question: "and by city"
// after "revenue by country". Where it has none they go to its end.
func swapGroup(before, words string) (string, bool) {
	fresh := tokenize(words)
	if phrase(fresh, 0, "by|per|for each|every?") < 0 || fresh[0].lower == "for" && phrase(fresh, 0, "for each|every") < 0 {
		return "", false
	}
	before = strings.TrimRight(strings.TrimSpace(before), "?!. ")
	old := tokenize(before)
	for i := range old {
		end := phrase(old, i, "by|per|each|every")
		if end < 0 || end >= len(old) || i == 0 {
			continue
		}
		if wordIs(old[i].lower, "each", "every") && old[i-1].lower == "for" {
			i--
		}
		rest := ""
		for j := end; j < len(old); j++ {
			if prepositions[old[j].lower] {
				rest = " " + textFrom(before, old, j)
				break
			}
		}
		head := strings.TrimSpace(strings.TrimSuffix(before, textFrom(before, old, i)))
		return head + " " + words + rest + "?", true
	}
	return before + " " + words + "?", true
}

// swap puts new words in the place of those of their kind in a question; at its
// end when there are none.
func swap(question, words string) string {
	old, fresh := tokenize(question), tokenize(words)
	question = strings.TrimRight(strings.TrimSpace(question), "?!. ")
	var content []token
	for _, t := range fresh {
		if !t.mark && (!stopWords[t.lower] || t.capital && months[t.lower] != 0) {
			content = append(content, t)
		}
	}
	if len(content) == 0 {
		return question + " " + words + "?"
	}
	start, end := lastAlike(old, content)
	if end < 0 {
		if prepositions[fresh[0].lower] {
			return question + " " + words + "?"
		}
		return question + " for " + words + "?"
	}
	if prepositions[fresh[0].lower] {
		words = textFrom(words, fresh, 1)
	}
	// "the top 10" after "top 5": what is said already is not said again.
	for len(fresh) > 1 && (wordIs(fresh[0].lower, "the", "a", "an") && wordIs(old[start-1].lower, "the", "a", "an", "top") || fresh[0].lower == old[start-1].lower) {
		words, fresh = textFrom(words, fresh, 1), fresh[1:]
	}
	from := len(question) - len(textFrom(question, old, start))
	tail := textFrom(question, old, end)
	return question[:from] + words + strings.TrimPrefix(tail, old[end].text) + "?"
}

// lastAlike is the last run of words that are of the kind of some others: years,
// other numbers, names, or one plain word such as "returned". The end is -1 when
// there is none. The first word of a question is not counted.
func lastAlike(old, content []token) (start, end int) {
	kind := func(t token) string {
		switch {
		case t.mark:
			return ""
		case t.isNumber && yearLike(t.number):
			return "year"
		case t.isNumber:
			return "number"
		case months[t.lower] != 0:
			return "month"
		case t.capital:
			return "name"
		case len(content) == 1 && !stopWords[t.lower] && !quantityWord(t.lower) && strings.HasSuffix(t.lower, "ed"):
			return "state"
		case len(content) == 1 && !stopWords[t.lower] && !quantityWord(t.lower) && t.lemma != t.lower:
			return "many"
		}
		return ""
	}
	want := kind(content[len(content)-1])
	if want == "" {
		return 0, -1
	}
	for end = len(old) - 1; end > 0 && kind(old[end]) != want; end-- {
	}
	if last := len(old) - 1; end <= 0 && want == "state" && last > 1 {
		if old[last].mark {
			last--
		}
		if wordIs(old[last-1].lower, "was", "were", "is", "are", "been") {
			return last, last // "sold" is one too
		}
	}
	if end <= 0 {
		return 0, -1
	}
	start = end
	for start > 1 && kind(old[start-1]) == want || start > 1 && want == "year" && slices.ContainsFunc(content, func(t token) bool { return months[t.lower] != 0 }) && kind(old[start-1]) == "month" {
		start--
	}
	return start, end
}
