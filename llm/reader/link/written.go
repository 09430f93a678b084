package link

import (
	"slices"

	"parley/llm/reader/catalog"
)

// maxWritten is the maximum number of tokens of a written name.
const maxWritten = 16

// writtenNames returns the ranges of tokens that are the whole name of a table or column
// which has a digit or a sign, such as Sales.2024-Q1, by the letters of the name. A name
// without digits has its signs in the question too. Words and numbers within a written name
// are no values.
func writtenNames(tokens []Token, cat *catalog.Catalog) map[string][]tokenRange {
	names := cat.SignNames()
	if len(names) == 0 {
		return nil
	}
	written := map[string][]tokenRange{}
	for i := range tokens {
		text, signs := catalog.Letters(tokens[i].Text), false
		if text == "" {
			continue
		}
		for end := i + 2; end <= min(len(tokens), i+maxWritten); end++ {
			more := catalog.Letters(tokens[end-1].Text)
			text, signs = text+more, signs || more == ""
			if hasDigit, ok := names[text]; ok && more != "" && (hasDigit || signs) {
				written[text] = append(written[text], tokenRange{i, end})
			}
		}
	}
	return written
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
