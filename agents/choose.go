package agents

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"parley/internal/domain"
)

// choose returns the option that an answer names: as named does, or by words that only its label
// has.
func choose(options []domain.InputOption, answer string) (domain.InputOption, bool) {
	if option, ok := named(options, answer); ok {
		return option, true
	}
	words := wordsIn(answer)
	if !slices.ContainsFunc(words, isDistinctive) {
		return domain.InputOption{}, false
	}
	var found []domain.InputOption
	for _, option := range options {
		if hasWords(wordsIn(option.Label), words) {
			found = append(found, option)
		}
	}
	if len(found) != 1 {
		return domain.InputOption{}, false
	}
	return found[0], true
}

// named returns the option that a text names by its id, its number, its label or query, and says
// nothing else.
func named(options []domain.InputOption, text string) (domain.InputOption, bool) {
	words := wordsIn(text)
	if len(words) == 0 {
		return domain.InputOption{}, false
	}
	number := strconv.Itoa(numberIn(words))
	for i, option := range options {
		for _, name := range []string{option.ID, option.Label, option.Query} {
			if strings.EqualFold(strings.TrimSpace(text), name) || slices.Equal(words, wordsIn(name)) {
				return option, true
			}
		}
		if number == strconv.Itoa(i+1) {
			return option, true
		}
	}
	return domain.InputOption{}, false
}

// wordsIn returns the words and numbers of a text in lower case.
func wordsIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// numberWords are words for the number of an option; courtesies may stand around them.
var (
	numberWords = map[string]int{"first": 1, "1st": 1, "one": 1, "second": 2, "2nd": 2, "two": 2}
	courtesies  = []string{"the", "option", "number", "no", "reading", "please", "i", "mean", "take", "it", "is"}
)

// numberIn returns the number that an answer such as "the second one, please" names; 0 for
// none.
func numberIn(words []string) int {
	var left []string
	for _, word := range words {
		if !slices.Contains(courtesies, word) {
			left = append(left, word)
		}
	}
	if len(left) == 2 && left[1] == "one" {
		left = left[:1]
	}
	if len(left) != 1 {
		return 0
	}
	if n, ok := numberWords[left[0]]; ok {
		return n
	}
	n, _ := strconv.Atoi(left[0]) // 0 for a word
	return n
}

// isDistinctive reports whether a word is long enough, or a number, to tell readings apart:
// "no" may be part of a label, too.
func isDistinctive(word string) bool {
	return len([]rune(word)) > 3 || strings.IndexFunc(word, unicode.IsDigit) >= 0
}

// hasWords reports whether a text has words in a row.
func hasWords(text, words []string) bool {
	for i := 0; i+len(words) <= len(text); i++ {
		if slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
