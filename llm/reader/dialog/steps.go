package dialog

import (
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

var (
	// asking are the words that a question of its own starts with.
	asking = set("what which who whom whose where when how why list show give find count tell is are was were does do did")
	// telling are those of them that often only say what to show of the question before.
	telling = set("list show give return find order sort only please tell count")
	// joining are words that may come before a question.
	joining = set("and also then but")
	// pointing are words that point at what was said before.
	pointing = set("it its they them their this these those that there each he she his her him same such other corresponding respectively ones")
)

// Steps cuts a text into its questions. What can only be read with the part before it
// stays with it; a text of more than [llm.MaxSteps] questions stays whole.
func Steps(question string) []string {
	question = strings.TrimSpace(question)
	var steps []string
	for _, sentence := range sentences(question) {
		for _, part := range clauses(sentence) {
			part = strings.TrimSpace(part)
			n := len(steps)
			switch {
			case part == "":
			case n > 0 && (leans(part) || !asks(steps[n-1])):
				steps[n-1] += " " + part
			case n > 0:
				steps = append(steps, withoutJoining(part))
			default:
				steps = append(steps, part)
			}
		}
	}
	if len(steps) == 0 || len(steps) > llm.MaxSteps {
		return []string{question}
	}
	return steps
}

// sentences cuts a text after each mark that ends a sentence.
func sentences(text string) []string {
	var all []string
	start := 0
	for i, r := range text {
		switch {
		case r == '?' || r == '!' || r == ';' || r == '\n':
		case r == '.' && i-start >= 12 && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n'):
			// Sooner it more likely ends an abbreviation.
		default:
			continue
		}
		all = append(all, text[start:i+1])
		start = i + 1
	}
	return append(all, text[start:])
}

// newClauses are where a sentence goes on with another question.
var newClauses = []string{", and how many ", ", and how much ", ", and what is the ", ", and what are the ", ", and what was the ", ", and which ", ", and who "}

// clauses cuts a sentence where another question starts after a comma and "and".
func clauses(sentence string) []string {
	lower := strings.ToLower(sentence)
	if len(lower) != len(sentence) {
		return []string{sentence}
	}
	for _, start := range newClauses {
		i := strings.Index(lower, start)
		if i < 0 {
			continue
		}
		rest := sentence[i+len(", and "):]
		if leans(rest) || related(sentence[:i], rest) {
			continue
		}
		return append([]string{sentence[:i]}, clauses(rest)...)
	}
	return []string{sentence}
}

// related reports whether a clause speaks of what another one does, or of nothing.
func related(first, second string) bool {
	named := map[string]bool{}
	for _, t := range link.Tokenize(first) {
		named[t.Stem] = content(t)
	}
	found := false
	for _, t := range link.Tokenize(second) {
		if content(t) && named[t.Stem] {
			return true
		}
		found = found || content(t)
	}
	return !found
}

// content reports whether a word says what a question is about.
func content(t link.Token) bool {
	return isWord(t) && !catalog.Stop[t.Lower] && !asking[t.Lower] && !joining[t.Lower]
}

// withoutJoining takes the "and" from a question that starts with it.
func withoutJoining(part string) string {
	words := wordsOf(link.Tokenize(part))
	if len(words) > 1 && joining[words[0].Lower] {
		return part[words[1].Start:]
	}
	return part
}

// asks reports whether a part asks for something; else it says what the next part is
// about.
func asks(part string) bool {
	words := wordsOf(link.Tokenize(part))
	return len(words) > 0 && (asking[words[0].Lower] || strings.ContainsRune(part, '?')) || len(words) > 1 && asking[words[1].Lower]
}

// leans reports whether a part can only be read with the one before it.
func leans(part string) bool {
	words := wordsOf(link.Tokenize(part))
	if len(words) > 1 && joining[words[0].Lower] {
		words = words[1:]
	}
	if len(words) < 3 || !asking[words[0].Lower] {
		return true
	}
	for i, t := range words {
		if pointing[t.Lower] && !(t.Lower == "there" && i > 0 && phrase(words, i-1, "are|is|were|was")) && !(phrase(words, i-1, "for each") && i+1 < len(words)) {
			return true
		}
	}
	return telling[words[0].Lower] && !phrase(words, 1, "all")
}

// last are words that point at something at the end of a question.
var last = set("it them those these ones")

// PointsBack reports whether a question points at something that it does not name:
// "how many of them are open", "show those", "and in Berlin". Words such as "their" may
// speak of what the data is about.
func PointsBack(tokens []link.Token) bool {
	words := wordsOf(tokens)
	if phrase(words, 0, "and|but|only in|for|at|of|from|by|on|with|per|since|after|before") && len(words) <= 5 {
		return true
	}
	if phrase(words, 0, "and") {
		words = words[1:]
	}
	if phrase(words, 0, "the same for") || phrase(words, 0, "same for") {
		return true
	}
	for i, t := range words {
		switch {
		case content(t):
			return false
		case phrase(words, i, "of them|it"), t.Lower == "them", i > 0 && i == len(words)-1 && last[t.Lower]:
			return true
		case phrase(words, i, "of those|these"):
			// "Which of those live in Rome", but "how many of these dogs".
			return i+2 < len(words) && !(content(words[i+2]) && strings.HasSuffix(words[i+2].Lower, "s")) && !phrase(words, i+2, "who|that|which|with|in|from|whose")
		}
	}
	return false
}
