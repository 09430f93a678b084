package rules

import (
	"context"
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
	if before := lastAsked(task.Earlier); before != "" {
		if full, ok := follow(before, question); ok {
			return llm.Plan{Steps: []string{full}, Reasoning: "Read with the question before it as: " + full}, nil
		}
	}
	if phrase(tokenize(question), 0, "and? how|which|who many|much? of them|those|these") > 0 {
		return llm.Plan{}, llm.Unanswerable("It is not clear what is pointed at. Ask in full, with the name of what you mean.")
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
