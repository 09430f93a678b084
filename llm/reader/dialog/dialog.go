// Package dialog has the texts of the reader: it splits a message into questions, formats
// answers, describes datasets, recognizes questions about documents, and formats refusals.
// Translating a question to a query is left to the other packages of the reader.
package dialog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/link"
)

// wordsOf returns the tokens that are words or numbers.
func wordsOf(tokens []link.Token) []link.Token {
	var words []link.Token
	for _, t := range tokens {
		if isWord(t) {
			words = append(words, t)
		}
	}
	return words
}

func isWord(t link.Token) bool {
	r, _ := utf8.DecodeRuneInString(t.Text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// matchesPhrase reports whether the tokens from a position on match a pattern: words, with
// alternatives separated by |.
func matchesPhrase(tokens []link.Token, at int, pattern string) bool {
	for part := range strings.FieldsSeq(pattern) {
		if at < 0 || at >= len(tokens) {
			return false
		}
		found := false
		for w := range strings.SplitSeq(part, "|") {
			found = found || tokens[at].Lower == w
		}
		if !found {
			return false
		}
		at++
	}
	return true
}

// enumerate joins texts with commas and an "and".
func enumerate(texts []string) string { return joinList(texts, "and") }

// joinList joins texts with commas and a last word.
func joinList(texts []string, last string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " " + last + " " + texts[len(texts)-1]
}
