package rules

import (
	"slices"
	"strings"
)

func (l *linker) linkValues(from, to int, at func(int, int) *link) {
	first, last := l.tokens[from], l.tokens[to-1]
	quoted := first.quote != 0
	if !quoted && (fillers[last.lower] || fillers[first.lower] && to-from == 1) {
		return
	}
	var parts []string
	content := 0
	for _, t := range l.tokens[from:to] {
		if t.mark {
			continue
		}
		parts = append(parts, t.plain())
		if !stopWords[t.lower] {
			content++
		}
	}
	if content == 0 && !quoted && !(to-from == 1 && first.capital && from > 0 && len(first.lower) > 1) {
		return
	}
	phrase := strings.Join(parts, " ")
	single := len(parts) == 1
	for _, t := range l.tables {
		if t.index == nil {
			continue
		}
		matches := exactOnly(t, phrase)
		if len(matches) == 0 && single && !first.isNumber && !quoted {
			matches = bent(t, first)
		}
		if (len(matches) == 0 || matches[0].exact && !matches[0].guess) && !(single && first.isNumber) {
			matches = l.valuesIn(t, phrase)
		}
		if len(matches) == 0 && len(parts) == 2 {
			for _, place := range demonyms[phrase] {
				matches = append(matches, exactOnly(t, place)...)
			}
		}
		if len(matches) == 0 && single && !quoted && len(l.tables) > 1 && first.lemma != first.lower {
			matches = headed(t, first.lemma)
		}
		matches = slices.DeleteFunc(matches, func(m valueMatch) bool { return !m.exact && !quoted && l.passing(from, to, len(parts), m) })
		if len(matches) == 0 {
			continue
		}
		k := at(from, to)
		k.values = append(k.values, matches...)
		weight := 0.0
		for _, m := range matches {
			w := 0.55
			switch {
			case m.exact && !m.guess:
				w = 1
			case m.guess:
				w = 0.8
			case content >= 2:
				w = 0.85
			}
			weight = max(weight, w)
		}
		bonus := 0.0
		if quoted {
			bonus = 1
		} else if first.capital && from > 0 {
			bonus = 0.3
		}
		k.weight = max(k.weight, weight*float64(len(parts))+bonus)
	}
}

// passing reports whether words only happen to occur in values: a common word in
// long texts, or what is counted or asked for.
func (l *linker) passing(from, to, words int, m valueMatch) bool {
	long := 0
	for _, ref := range m.refs {
		if strings.Count(ref.normal(), " ")+1 > 4*words+3 {
			long++
		}
	}
	if long*2 > len(m.refs) {
		return true
	}
	if words == 1 && !l.tokens[from].capital && !l.tokens[from].isNumber && len(synonyms[l.tokens[from].lemma]) > 0 {
		return true // a common noun
	}
	if words == 1 && from >= 1 && !l.tokens[from].capital && !l.tokens[from].isNumber {
		before := l.tokens[from-1].lower
		return wordIs(before, "many", "which", "what", "of") && (before != "of" || from >= 2 && l.tokens[from-2].lower == "number")
	}
	return false
}

// valuesIn finds the values of a table that a phrase may stand for, the exact
// ones first.
func (l *linker) valuesIn(t *table, phrase string) []valueMatch {
	matches := exactOnly(t, phrase)
	have := map[*column]bool{}
	for _, m := range matches {
		have[m.column] = true
	}
	grouped := map[*column]*valueMatch{}
	var order []*column
	for _, ref := range t.index.containing(phrase) {
		if have[ref.column] || ref.column.kind == kindNumber && ref.column.typed {
			continue
		}
		if grouped[ref.column] == nil {
			grouped[ref.column] = &valueMatch{column: ref.column}
			order = append(order, ref.column)
		}
		grouped[ref.column].refs = append(grouped[ref.column].refs, ref)
	}
	for _, c := range order {
		matches = append(matches, *grouped[c])
	}
	return matches
}

func exactOnly(t *table, phrase string) []valueMatch {
	var matches []valueMatch
	for _, ref := range t.index.whole(phrase) {
		if n := len(matches); n > 0 && matches[n-1].column == ref.column {
			matches[n-1].refs = append(matches[n-1].refs, ref)
			continue
		}
		matches = append(matches, valueMatch{column: ref.column, refs: []valueRef{ref}, exact: true})
	}
	return matches
}

// genders are the words for a gender, as columns of it write them.
var genders = map[string][]string{
	"female": {"f", "female", "w", "woman"}, "woman": {"f", "female", "w", "woman"}, "girl": {"f", "female"}, "lady": {"f", "female"},
	"male": {"m", "male", "man"}, "man": {"m", "male", "man"}, "boy": {"m", "male"}, "gentleman": {"m", "male"},
}

// gendered finds the values of a column of genders that a word stands for.
func gendered(t *table, word string) []valueMatch {
	for _, form := range genders[lemma(word)] {
		for _, m := range exactOnly(t, form) {
			if slices.Contains(m.column.words, "gender") || slices.Contains(m.column.words, "sex") {
				m.guess = true
				return []valueMatch{m}
			}
		}
	}
	return nil
}

// bent looks for a word in other forms: its singular, or the place that it is the
// adjective of.
func bent(t *table, word token) []valueMatch {
	var matches []valueMatch
	forms := placesOf(word.lower)
	if word.lemma != word.lower {
		forms = append([]string{word.lemma}, forms...)
	} else if len(word.lower) >= 3 {
		forms = append(forms, word.lower+"s")
	}
	if m := gendered(t, word.lower); m != nil {
		return m
	}
	for _, form := range forms {
		if stopWords[form] {
			continue
		}
		for _, m := range exactOnly(t, form) {
			m.guess = true
			matches = append(matches, m)
		}
		if len(matches) > 0 {
			return matches
		}
	}
	return nil
}

// headed finds the things of a table whose names end in a noun: lamps are all that
// is called some lamp.
func headed(t *table, noun string) []valueMatch {
	name := nameColumn(t)
	if name == nil || name.kind != kindText || len(noun) < 3 {
		return nil
	}
	m := valueMatch{column: name, exact: true, guess: true}
	for _, ref := range t.index.containing(noun) {
		if ref.column == name && strings.HasSuffix(ref.normal(), " "+noun) {
			m.refs = append(m.refs, ref)
		}
	}
	if len(m.refs) == 0 {
		return nil
	}
	return []valueMatch{m}
}
