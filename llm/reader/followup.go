package reader

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

// A reading as a follow-up is chosen if its confidence is at least that of the standalone
// reading times a factor, which depends on the words of the question.
const (
	factorStandalone = 5
	factorUnclear    = 1
	factorFollowUp   = 0.1
)

// Words that distinguish follow-up questions from standalone ones. An entry with a blank is
// two words.
var (
	followUpFirstWords = []string{"and", "what about", "how about", "same", "only", "just", "but", "now", "also", "or", "instead", "of those", "of these",
		"of them", "of that", "make", "exclude", "without", "excluding", "include", "the same", "plus", "then", "rather", "except", "as", "keep",
		"drop", "add", "remove", "ignore", "leave", "that"}
	followUpPrepositions = []string{"by", "per", "for", "from", "in", "at", "with", "to", "on", "of", "outside", "within", "before", "after", "since",
		"until", "over", "under", "above", "below", "not"}
	followUpLastWords  = []string{"only", "too", "please", "first", "instead", "well", "top", "also", "that", "those", "these"}
	pronouns           = []string{"them", "those", "these", "he", "she", "they", "it", "there", "one", "ones", "his", "her", "their", "its", "him"}
	questionFirstWords = []string{"how", "what", "which", "who", "whom", "whose", "where", "when", "why", "list", "show", "give", "find", "count", "tell",
		"is", "are", "was", "were", "does", "do", "did", "name", "display", "get"}
)

// Limits of the number of words: of a question whose first preposition or last word makes
// it a follow-up, and of one whose pronouns do.
const (
	maxShortWords = 5
	maxPlainWords = 6
)

// followUpFactor returns the factor for a question: see factorStandalone.
func followUpFactor(tokens []link.Token) float64 {
	var words []string
	for _, t := range tokens {
		if r, _ := utf8.DecodeRuneInString(t.Lower); unicode.IsLetter(r) || unicode.IsDigit(r) {
			words = append(words, t.Lower)
		}
	}
	n := len(words)
	if n == 0 {
		return factorUnclear
	}
	first := slices.Contains(followUpFirstWords, words[0]) || slices.Contains(followUpFirstWords, strings.Join(words[:min(n, 2)], " "))
	short := n <= maxShortWords && (slices.Contains(followUpPrepositions, words[0]) || slices.Contains(followUpLastWords, words[n-1]))
	points := n <= maxPlainWords && hasPronoun(words)
	switch {
	case first, short, points, n == 1, dialog.HasBackReference(tokens):
		return factorFollowUp
	case n > maxPlainWords, n > 3 && slices.Contains(questionFirstWords, words[0]):
		return factorStandalone
	}
	return factorUnclear
}

// hasPronoun reports whether words have a pronoun that refers to something before. "There"
// in "are there" does not.
func hasPronoun(words []string) bool {
	for i, w := range words {
		exists := w == "there" && i > 0 && slices.Contains([]string{"is", "are", "was", "were"}, words[i-1])
		if slices.Contains(pronouns, w) && !exists {
			return true
		}
	}
	return false
}
