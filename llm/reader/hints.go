package reader

import (
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

// withHint adds the dataset that the hints name to a question that names none: "How many
// are there?" becomes "How many are there in orders". Hints that name several datasets are
// ignored.
func withHint(question, hints string, datasets []llm.Dataset) string {
	asked, hinted := stemsOf(question), stemsOf(hints)
	if len(hinted) == 0 {
		return question
	}
	named := ""
	for _, d := range datasets {
		stems := catalog.Stems(catalog.NameWords(d.Name))
		switch {
		case containsSequence(asked, stems), named != "" && containsSequence(hinted, stems):
			return question
		case containsSequence(hinted, stems):
			named = strings.Join(catalog.NameWords(d.Name), " ")
		}
	}
	if named == "" {
		return question
	}
	return strings.TrimRight(question, "?!. ") + " in " + named
}

func stemsOf(text string) []string {
	var stems []string
	for _, t := range link.Tokenize(text) {
		stems = append(stems, t.Stem)
	}
	return stems
}

// containsSequence reports whether a text has the words in a row.
func containsSequence(text, words []string) bool {
	for i := 0; i+len(words) <= len(text); i++ {
		if slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
