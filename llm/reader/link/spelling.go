package link

import (
	"strings"

	"parley/internal/near"
	"parley/llm/reader/catalog"
	"parley/llm/reader/vectors"
)

// shorthand maps informal spellings to words.
var shorthand = map[string]string{"whats": "what", "whos": "who", "hows": "how", "wheres": "where", "wich": "which", "pls": "please", "plz": "please", "thx": "thanks", "ppl": "people"}

// correctableWords are words of questions that are often misspelled, and correctableMonths
// names that are too long to be mistaken for others.
var (
	correctableWords = strings.Fields(`which where average highest lowest largest smallest biggest longest shortest expensive cheapest oldest youngest newest latest earliest maximum
	minimum between percentage percent number total without different distinct monthly weekly yearly quarter quarterly
	march april august`)
	correctableMonths = strings.Fields("january february september october november december")
)

// foldWord folds a word and removes 's.
func foldWord(text string) string { return strings.TrimSuffix(catalog.Fold(text), "'s") }

// setWord sets the folded text of a token.
func (t *Token) setWord(lower string) {
	t.Lower, t.Stem, t.Long = lower, catalog.Stem(lower), ""
	if long := catalog.ExpandAbbreviation(lower); long != "" {
		t.Long = catalog.Stem(long)
	} else if n := len(t.Stem); n > 3 && t.Stem != lower && t.Stem[n-1] == t.Stem[n-2] && strings.IndexByte("bdgmnprt", t.Stem[n-1]) >= 0 {
		t.Long = t.Stem[:n-1] // tagged and tag
	}
}

// correctSpelling corrects shorthand and misspelled words of questions in a folded word. A
// name, with a capital inside a sentence, can only be a misspelled month.
func correctSpelling(word string, isName bool) string {
	if long := shorthand[word]; long != "" {
		return long
	}
	if len(word) < minMisspelled || !isWord(word) || isEnglishWord(word) {
		return word
	}
	for _, w := range correctableMonths {
		if w[0] == word[0] && near.IsOneEdit(word, w) {
			return w
		}
	}
	for _, w := range correctableWords {
		if !isName && w[0] == word[0] && near.IsOneEdit(word, w) {
			return w
		}
	}
	return word
}

// restoreWords undoes corrections of words that are in a name or value of the catalog.
func restoreWords(tokens []Token, cat *catalog.Catalog) []Token {
	restored := tokens
	var names map[string]bool
	for i, t := range tokens {
		word := foldWord(t.Text)
		if word == t.Lower {
			continue
		}
		if names == nil {
			names, restored = cat.NameStems(), append([]Token(nil), tokens...)
		}
		if names[catalog.Stem(word)] || len(cat.Index().FindExact(catalog.Key([]string{word}))) > 0 || len(cat.Index().FindContaining(word)) > 0 {
			restored[i].setWord(word)
		}
	}
	return restored
}

// isEnglishWord reports whether a word has a vector. Such words are not treated as
// misspelled values.
func isEnglishWord(word string) bool { return vectors.Load().Number(word) >= 0 }
