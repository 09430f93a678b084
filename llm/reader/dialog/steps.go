package dialog

import (
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

var (
	// questionWords are the first words of questions.
	questionWords = catalog.WordSet("what which who whom whose where when how why list show give find count tell is are was were does do did")
	// commandWords are first words that often only change the output of the question
	// before.
	commandWords = catalog.WordSet("list show give return find order sort only please tell count")
	// conjunctions are words that may come before a question.
	conjunctions = catalog.WordSet("and also then but")
	// backReferences are words that refer to something before.
	backReferences = catalog.WordSet("it its they them their this these those that there each he she his her him same such other corresponding respectively ones")
)

// Steps splits a text into questions. A part that depends on the one before stays with it;
// a text of more than [llm.MaxSteps] questions is not split.
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

// sentences splits a text after each sentence.
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

// clauseStarts are the texts with which another question starts within a sentence.
var clauseStarts = []string{", and how many ", ", and how much ", ", and what is the ", ", and what are the ", ", and what was the ", ", and which ", ", and who "}

// clauses splits a sentence before each of clauseStarts.
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

// sharesTopic reports whether two clauses share a content word, or the second has none.
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

// isContentWord reports whether a word names the subject of a question.
func isContentWord(t link.Token) bool {
	return isWord(t) && !catalog.StopWords[t.Lower] && !questionWords[t.Lower] && !conjunctions[t.Lower]
}

// trimConjunction removes a conjunction at the start of a question.
func trimConjunction(part string) string {
	words := wordsOf(link.Tokenize(part))
	if len(words) > 1 && conjunctions[words[0].Lower] {
		return part[words[1].Start:]
	}
	return part
}

// isQuestion reports whether a part is a question; otherwise it introduces the next part.
func isQuestion(part string) bool {
	words := wordsOf(link.Tokenize(part))
	return len(words) > 0 && (questionWords[words[0].Lower] || strings.ContainsRune(part, '?')) || len(words) > 1 && questionWords[words[1].Lower]
}

// dependsOnPrevious reports whether a part needs the one before to be understood.
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

// finalPronouns are back references at the end of a question.
var finalPronouns = catalog.WordSet("it them those these ones")

// HasBackReference reports whether a question refers to something that it does not name:
// "how many of them are open", "show those", "and in Berlin". Words such as "their" do not
// count: they may refer to the data.
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
