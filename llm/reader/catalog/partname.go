package catalog

import (
	"slices"
	"strings"
	"unicode"
)

// partWords are words by which the name of a part of a dataset differs from the names of
// other parts, beside numbers.
var partWords = WordSet(`january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
	part page sheet week month quarter year q h w v`)

func isPartWord(word string) bool {
	return partWords[word] || word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// SplitPart splits the words of a name into those of the whole and those of the part, which
// are at the end or at the start: orders and 2023. stem is nil for the name of no part.
func SplitPart(name string) (stem, part []string) {
	words := NameWords(name)
	end := len(words)
	for end > 0 && isPartWord(words[end-1]) {
		end--
	}
	start := 0
	for end == len(words) && start < end && isPartWord(words[start]) {
		start++
	}
	if start == end || start == 0 && end == len(words) {
		return nil, nil
	}
	return words[start:end], append(slices.Clip(words[:start]), words[end:]...)
}
