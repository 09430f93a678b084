package link

import (
	"slices"
	"strings"

	"parley/internal/near"
	"parley/llm/reader/catalog"
)

// links are the question words that are related to a name, by kind of relation.
type links struct{ exact, part, similar, fair, prefix, described []int }

// MinSimilar and MinFairlySimilar are the minimum similarities of the vectors of similar
// and of fairly similar words.
const (
	MinSimilar       = 0.62
	MinFairlySimilar = 0.48
)

// linkName finds the words of the question that are related to a name.
func (b *builder) linkName(name string, words, stems, hints []string) links {
	var l links
	linked := map[int]bool{}
	for _, i := range b.tokensByStem[stems[0]] {
		if i+len(stems) <= len(b.tokens) && b.sameStems(i, stems) {
			for k := range stems {
				l.exact = append(l.exact, i+k)
				linked[i+k] = true
			}
		}
	}
	for k, s := range stems {
		if !catalog.StopWords[words[k]] || len(stems) == 1 {
			for _, i := range b.tokensByStem[s] {
				if !slices.Contains(l.part, i) {
					l.part = append(l.part, i)
					linked[i] = true
				}
			}
		}
	}
	b.linkWritten(&l, name, linked)
	b.linkJoined(&l, words, linked)
	b.linkMisspelled(&l, words, linked)
	for i, t := range b.tokens {
		if linked[i] || catalog.StopWords[t.Lower] || len(t.Lower) < 3 {
			continue
		}
		b.linkWord(&l, i, t.Lower, words)
		if slices.Contains(hints, t.Stem) {
			l.described = append(l.described, i)
		}
	}
	return l
}

func (b *builder) sameStems(i int, stems []string) bool {
	for k, s := range stems {
		if t := &b.tokens[i+k]; t.Stem != s && t.Long != s {
			return false
		}
	}
	return true
}

// linkWord links a word of the question to a name by similarity and prefix.
func (b *builder) linkWord(l *links, i int, word string, name []string) {
	best, prefix := float32(0), false
	for _, w := range name {
		if catalog.StopWords[w] || len(w) < 2 {
			continue
		}
		prefix = prefix || len(w) >= 3 && (strings.HasPrefix(word, w) || strings.HasPrefix(w, word)) || looksDerived(word, w)
		best = max(best, b.vec.Cosine(b.vectorNumber(word), b.vectorNumber(w)))
	}
	switch {
	case best > MinSimilar:
		l.similar = append(l.similar, i)
	case best > MinFairlySimilar:
		l.fair = append(l.fair, i)
	}
	if prefix {
		l.prefix = append(l.prefix, i)
	}
}

// linkWritten links a name that the question has in full, with its signs.
func (b *builder) linkWritten(l *links, name string, linked map[int]bool) {
	if len(b.written) == 0 {
		return
	}
	for _, s := range b.written[catalog.Letters(name)] {
		for i := s.start; i < s.end; i++ {
			linked[i] = true
			if !slices.Contains(l.exact, i) {
				l.exact = append(l.exact, i)
			}
			if !slices.Contains(l.part, i) {
				l.part = append(l.part, i)
			}
		}
	}
}

// looksDerived reports whether two words may have the same root: escalations and escalated.
func looksDerived(a, b string) bool {
	return len(a) > minSharedLetters && len(b) > minSharedLetters && a[minSharedLetters] == b[minSharedLetters] && sharesPrefix(a, b)
}

// tokenRange is a range of tokens.
type tokenRange struct{ start, end int }

// Limits of names that are written as one word in one place and as several in another.
const (
	maxJoined      = 4
	minJoinedChars = 3
)

// joinedWords returns ranges of tokens by their joined text: e-mail and "e mail" are email.
func joinedWords(tokens []Token) map[string][]tokenRange {
	all := map[string][]tokenRange{}
	for i := range tokens {
		text := ""
		for end := i + 1; end <= min(len(tokens), i+maxJoined); end++ {
			switch lower := tokens[end-1].Lower; {
			case lower == "-" || lower == ".":
				continue
			case catalog.StopWords[lower] && !strings.ContainsAny(lower, "0123456789") && len(lower) > 1:
				end = len(tokens) // words without meaning join nothing
				continue
			default:
				text += strings.ReplaceAll(lower, "_", "")
			}
			if len(text) >= minJoinedChars || len(text) > 1 && strings.ContainsAny(text, "0123456789") {
				all[text] = append(all[text], tokenRange{i, end})
			}
		}
	}
	return all
}

// linkJoined links names that are one word in the question and several in the name, or the
// reverse: NO2 and no_2.
func (b *builder) linkJoined(l *links, words []string, marked map[int]bool) {
	for k := range words {
		text := ""
		for end := k + 1; end <= min(len(words), k+maxJoined); end++ {
			text += words[end-1]
			for _, s := range b.joinedSpans[text] {
				if end-k == 1 && s.end-s.start == 1 && b.tokens[s.start].Lower == text {
					continue // by its stem, already
				}
				for i := s.start; i < s.end; i++ {
					if marked[i] {
						continue
					}
					marked[i] = true
					l.part = append(l.part, i)
					if end-k == len(words) {
						l.exact = append(l.exact, i)
					}
				}
			}
		}
	}
}

// misspelledWords returns the tokens that are neither English words nor part of a value or
// a name.
func misspelledWords(tokens []Token, values []ValueMatch, names map[string]bool) []int {
	var all []int
next:
	for i, t := range tokens {
		if len(t.Lower) < minMisspelled || !isWord(t.Lower) || names[t.Stem] || isEnglishWord(t.Lower) {
			continue
		}
		for _, v := range values {
			if v.Start <= i && i < v.End && v.How != Capitalized {
				continue next
			}
		}
		all = append(all, i)
	}
	return all
}

// linkMisspelled links misspelled words that are one edit away from a word of a name.
func (b *builder) linkMisspelled(l *links, words []string, marked map[int]bool) {
	for _, i := range b.misspelled {
		for _, w := range words {
			if !marked[i] && len(w) >= minMisspelled-1 && w[0] == b.tokens[i].Lower[0] && near.IsOneEdit(b.tokens[i].Stem, catalog.Stem(w)) {
				marked[i] = true
				l.part = append(l.part, i)
			}
		}
	}
}

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
