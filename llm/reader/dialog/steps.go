package dialog

import (
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

var (
	// questionWords are the words that a question of its own starts with.
	questionWords = catalog.WordSet("what which who whom whose where when how why list show give find count tell is are was were does do did")
	// commandWords are those of them that often only say what to show of the question before.
	commandWords = catalog.WordSet("list show give return find order sort only please tell count")
	// conjunctions are words that may come before a question.
	conjunctions = catalog.WordSet("and also then but")
	// backReferences are words that point at what was said before.
	backReferences = catalog.WordSet("it its they them their this these those that there each he she his her him same such other corresponding respectively ones")
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
			case n > 0 && (dependsOnPrevious(part) || !isQuestion(steps[n-1])):
				steps[n-1] += " " + part
			case n > 0:
				steps = append(steps, trimConjunction(part))
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

// clauseStarts are where a sentence goes on with another question.
var clauseStarts = []string{", and how many ", ", and how much ", ", and what is the ", ", and what are the ", ", and what was the ", ", and which ", ", and who "}

// clauses cuts a sentence where another question starts after a comma and "and".
func clauses(sentence string) []string {
	lower := strings.ToLower(sentence)
	if len(lower) != len(sentence) {
		return []string{sentence}
	}
	for _, start := range clauseStarts {
		i := strings.Index(lower, start)
		if i < 0 {
			continue
		}
		rest := sentence[i+len(", and "):]
		if dependsOnPrevious(rest) || sharesTopic(sentence[:i], rest) {
			continue
		}
		return append([]string{sentence[:i]}, clauses(rest)...)
	}
	return []string{sentence}
}

// sharesTopic reports whether a clause speaks of what another one does, or of nothing.
func sharesTopic(first, second string) bool {
	named := map[string]bool{}
	for _, t := range link.Tokenize(first) {
		named[t.Stem] = isContentWord(t)
	}
	found := false
	for _, t := range link.Tokenize(second) {
		if isContentWord(t) && named[t.Stem] {
			return true
		}
		found = found || isContentWord(t)
	}
	return !found
}

// isContentWord reports whether a word says what a question is about.
func isContentWord(t link.Token) bool {
	return isWord(t) && !catalog.StopWords[t.Lower] && !questionWords[t.Lower] && !conjunctions[t.Lower]
}

// trimConjunction takes the "and" from a question that starts with it.
func trimConjunction(part string) string {
	words := wordsOf(link.Tokenize(part))
	if len(words) > 1 && conjunctions[words[0].Lower] {
		return part[words[1].Start:]
	}
	return part
}

// isQuestion reports whether a part asks for something; else it says what the next part is
// about.
func isQuestion(part string) bool {
	words := wordsOf(link.Tokenize(part))
	return len(words) > 0 && (questionWords[words[0].Lower] || strings.ContainsRune(part, '?')) || len(words) > 1 && questionWords[words[1].Lower]
}

// dependsOnPrevious reports whether a part can only be read with the one before it.
func dependsOnPrevious(part string) bool {
	words := wordsOf(link.Tokenize(part))
	if len(words) > 1 && conjunctions[words[0].Lower] {
		words = words[1:]
	}
	if len(words) < 3 || !questionWords[words[0].Lower] {
		return true
	}
	for i, t := range words {
		if backReferences[t.Lower] && !(t.Lower == "there" && i > 0 && matchesPhrase(words, i-1, "are|is|were|was")) && !(matchesPhrase(words, i-1, "for each") && i+1 < len(words)) {
			return true
		}
	}
	return commandWords[words[0].Lower] && !matchesPhrase(words, 1, "all")
}

// finalPronouns are words that point at something at the end of a question.
var finalPronouns = catalog.WordSet("it them those these ones")

// HasBackReference reports whether a question points at something that it does not name:
// "how many of them are open", "show those", "and in Berlin". Words such as "their" may
// speak of what the data is about.
func HasBackReference(tokens []link.Token) bool {
	words := wordsOf(tokens)
	if matchesPhrase(words, 0, "and|but|only in|for|at|of|from|by|on|with|per|since|after|before") && len(words) <= 5 {
		return true
	}
	if matchesPhrase(words, 0, "and") {
		words = words[1:]
	}
	if matchesPhrase(words, 0, "the same for") || matchesPhrase(words, 0, "same for") {
		return true
	}
	for i, t := range words {
		switch {
		case isContentWord(t):
			return false
		case matchesPhrase(words, i, "of them|it"), t.Lower == "them", i > 0 && i == len(words)-1 && finalPronouns[t.Lower]:
			return true
		case matchesPhrase(words, i, "of those|these"):
			// "Which of those live in Rome", but "how many of these dogs".
			return i+2 < len(words) && !(isContentWord(words[i+2]) && strings.HasSuffix(words[i+2].Lower, "s")) && !matchesPhrase(words, i+2, "who|that|which|with|in|from|whose")
		}
	}
	return false
}
