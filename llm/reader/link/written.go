package link

import (
	"slices"
	"strings"
	"unicode"

	"parley/llm/reader/catalog"
)

// maxWritten is the maximum number of tokens of a written name.
const maxWritten = 16

// writtenNames returns the ranges of tokens that are the whole name of a table or column
// which has a digit or a sign, such as Sales.2024-Q1, by [lettersOf] the name. A name
// without digits has its signs in the question too. Words and numbers within a written name
// are no values.
func writtenNames(tokens []Token, cat *catalog.Catalog) map[string][]tokenRange {
	hasDigit := map[string]bool{}
	add := func(name string) {
		switch letters := lettersOf(name); {
		case letters == "":
		case strings.ContainsFunc(letters, unicode.IsDigit):
			hasDigit[letters] = true
		case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '_' && r != ' ' }):
			hasDigit[letters] = false
		}
	}
	for i := range cat.Tables {
		add(cat.Tables[i].Name)
	}
	for i := range cat.Columns {
		add(cat.Columns[i].Name)
	}
	if len(hasDigit) == 0 {
		return nil
	}
	written := map[string][]tokenRange{}
	for i := range tokens {
		text, signs := lettersOf(tokens[i].Text), false
		if text == "" {
			continue
		}
		for end := i + 2; end <= min(len(tokens), i+maxWritten); end++ {
			more := lettersOf(tokens[end-1].Text)
			text, signs = text+more, signs || more == ""
			if digit, ok := hasDigit[text]; ok && more != "" && (digit || signs) {
				written[text] = append(written[text], tokenRange{i, end})
			}
		}
	}
	return written
}

// lettersOf returns the letters and digits of a text, folded.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, catalog.Fold(text))
}

// dropWithinNames drops the matches that are a part of a written name. Quoted texts are
// values in any case.
func (f *valueFinder) dropWithinNames() {
	for _, spans := range writtenNames(f.tokens, f.cat) {
		for _, s := range spans {
			f.matches = slices.DeleteFunc(f.matches, func(x ValueMatch) bool {
				return x.How != Quoted && x.Start >= s.start && x.End <= s.end && x.End-x.Start < s.end-s.start
			})
		}
	}
}
