package rules

import (
	"context"
	"slices"
	"strings"

	"parley/llm"
)

// Plan says in which steps a question is to be answered: one for each question
// in it. A question that leans on the one before is written out.
func (r *Rules) Plan(_ context.Context, task llm.Task) (llm.Plan, error) {
	question := strings.TrimSpace(task.Question)
	if question == "" {
		return llm.Plan{}, llm.Unanswerable("The question is empty.")
	}
	if n := len(task.Earlier); n > 0 {
		if full, ok := follow(task.Earlier[n-1].Question, question); ok {
			return llm.Plan{Steps: []string{full}, Reasoning: "Read with the question before it as: " + full}, nil
		}
	}
	steps := parts(question)
	if len(steps) == 1 {
		return llm.Plan{Steps: steps, Reasoning: "One query answers it."}, nil
	}
	return llm.Plan{Steps: steps, Reasoning: "The question has several parts; each is looked up by itself."}, nil
}

// asking are the words that a question of its own starts with.
var asking = set("what which who whom whose where when how why list show give find count tell is are was were does do did")

// parts cuts a text into its questions.
func parts(text string) []string {
	var steps []string
	for _, sentence := range sentences(text) {
		steps = append(steps, clauses(sentence)...)
	}
	var kept []string
	for _, s := range steps {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		// What leans on the part before it is not a question of its own.
		if n := len(kept); n > 0 && (leans(s) || !asks(kept[n-1])) {
			kept[n-1] += " " + s
			continue
		}
		kept = append(kept, s)
	}
	if len(kept) == 0 || len(kept) > llm.MaxSteps {
		return []string{text}
	}
	return kept
}

// asks reports whether a part asks for something; else it tells what the next
// part is about.
func asks(part string) bool {
	tokens := tokenize(part)
	return len(tokens) > 0 && (asking[tokens[0].lower] || strings.ContainsRune(part, '?')) || len(tokens) > 1 && asking[tokens[1].lower]
}

// sentences cuts a text after each mark that ends a sentence.
func sentences(text string) []string {
	var all []string
	start := 0
	for i, r := range text {
		if r != '?' && r != '!' && r != ';' && (r != '.' || i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\n') {
			continue
		}
		if r == '.' && i-start < 12 {
			continue // an abbreviation, more likely than a question
		}
		all = append(all, text[start:i+1])
		start = i + 1
	}
	return append(all, text[start:])
}

// clauses cuts a sentence where a new question starts after a comma and "and".
func clauses(sentence string) []string {
	lower := strings.ToLower(sentence)
	if len(lower) != len(sentence) {
		return []string{sentence}
	}
	for _, cutAt := range []string{", and how many ", ", and what is the ", ", and which ", ", and who "} {
		i := strings.Index(lower, cutAt)
		if i < 0 || leans(sentence[i+len(", and "):]) {
			continue
		}
		return append([]string{sentence[:i]}, clauses(sentence[i+len(", and "):])...)
	}
	return []string{sentence}
}

// leaning are words that point at what was said before.
var leaning = set("it its they them their these those that there each he she his her him same such corresponding respectively ones")

// leans reports whether a part can only be read with the one before it.
func leans(part string) bool {
	tokens := tokenize(part)
	words := 0
	asks := false
	for i, t := range tokens {
		if t.mark {
			continue
		}
		words++
		if leaning[t.lower] && !(t.lower == "there" && i > 0 && wordIs(tokens[i-1].lower, "are", "is", "were", "was")) {
			return true
		}
		if i == 0 {
			asks = asking[t.lower]
		}
	}
	if words > 0 && len(tokens) > 0 && wordIs(tokens[0].lower, "list", "show", "give", "return", "find", "order", "sort", "only", "please") {
		return true
	}
	return !asks || words < 3
}

// follow writes out a question that leans on the one before: "and in Berlin?",
// "what about 2020?".
func follow(before, now string) (string, bool) {
	tokens := tokenize(now)
	rest := now
	found := false
	lower := strings.ToLower(strings.TrimSpace(now))
	for _, start := range []string{"and what about ", "what about ", "how about ", "and how about ", "and for ", "and in ", "and ", "same for ", "the same for "} {
		if strings.HasPrefix(lower, start) && len(lower) == len(strings.TrimSpace(now)) {
			keep := ""
			if fields := strings.Fields(start); wordIs(fields[len(fields)-1], "in", "for") {
				keep = fields[len(fields)-1] + " "
			}
			rest, found = keep+strings.TrimSpace(now)[len(start):], true
			break
		}
	}
	if !found || len(tokens) == 0 {
		return "", false
	}
	if t := tokenize(rest); len(t) > 0 && asking[t[0].lower] {
		return strings.TrimSpace(rest), true
	}
	return swap(before, strings.TrimRight(strings.TrimSpace(rest), "?!. ")), true
}

// swap puts new words in the place of those of their kind in a question; at its
// end when there are none.
func swap(question, words string) string {
	old, fresh := tokenize(question), tokenize(words)
	question = strings.TrimRight(strings.TrimSpace(question), "?!. ")
	var content []token
	for _, t := range fresh {
		if !t.mark && !stopWords[t.lower] {
			content = append(content, t)
		}
	}
	if len(content) == 0 {
		return question + " " + words + "?"
	}
	isYear := len(content) == 1 && content[0].isNumber
	match := func(t token) bool {
		if isYear {
			return t.isNumber && len(t.lower) == len(content[0].lower)
		}
		return t.capital && !t.isNumber
	}
	// The last run of words of the same kind, not counting the first word.
	end := -1
	for i := len(old) - 1; i > 0; i-- {
		if match(old[i]) {
			end = i
			break
		}
	}
	if end < 0 {
		if wordIs(fresh[0].lower, "in", "for", "at", "of", "from", "by", "on", "with") {
			return question + " " + words + "?"
		}
		return question + " for " + words + "?"
	}
	start := end
	for start > 1 && match(old[start-1]) {
		start--
	}
	var run []string
	for _, t := range old[start : end+1] {
		run = append(run, t.text)
	}
	i := strings.LastIndex(question, run[0])
	j := strings.LastIndex(question, run[len(run)-1])
	if i < 0 || j < i {
		return question + " " + words + "?"
	}
	var texts []string
	for _, t := range fresh {
		texts = append(texts, t.text)
	}
	if len(fresh) > 0 && slices.Contains([]string{"in", "for", "at", "of", "from", "by", "on", "with"}, fresh[0].lower) {
		texts = texts[1:]
	}
	return question[:i] + strings.Join(texts, " ") + question[j+len(run[len(run)-1]):] + "?"
}
