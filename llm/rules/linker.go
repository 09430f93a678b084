package rules

import (
	"slices"
	"sort"
	"strings"
)

// link says what some words of the question may stand for.
type link struct {
	from, to int // tokens, to excluded
	weight   float64
	columns  []columnMatch
	tables   []tableMatch
	values   []valueMatch
}

type columnMatch struct {
	column *column
	score  float64
}

type tableMatch struct {
	table *table
	score float64
}

// valueMatch is the values of a column that words may stand for.
type valueMatch struct {
	column *column
	refs   []valueRef
	// exact says that the values have these words and no others.
	exact bool
	// guess says that the words were bent to fit: an adjective of a place.
	guess bool
	// literal is set, and refs empty, when the value was found by asking.
	literal []string
}

// linker finds what words stand for in some tables.
type linker struct {
	tokens []token
	tables []*table
}

// maxLink is the most tokens of a name.
const maxLink = 7

// links finds the links of the question that do not overlap, the weightiest
// first to be chosen, in the order of the words.
func (l *linker) links() []*link {
	found := map[[2]int]*link{}
	at := func(from, to int) *link {
		key := [2]int{from, to}
		if found[key] == nil {
			found[key] = &link{from: from, to: to}
		}
		return found[key]
	}
	for from := range l.tokens {
		if l.tokens[from].mark {
			continue
		}
		for to := from + 1; to <= len(l.tokens) && to <= from+maxPhrase; to++ {
			if l.tokens[to-1].mark && (to-1 == from || strings.Contains("?;!", l.tokens[to-1].lower)) {
				if strings.Contains("?;!", l.tokens[to-1].lower) {
					break
				}
				continue
			}
			if l.tokens[to-1].mark {
				continue
			}
			if l.tokens[from].quote != l.tokens[to-1].quote {
				break
			}
			if to-from <= maxLink {
				l.linkNames(from, to, at)
			}
			l.linkValues(from, to, at)
		}
	}
	all := make([]*link, 0, len(found))
	for _, k := range found {
		all = append(all, k)
	}
	return choose(all, len(l.tokens))
}

// choose takes links by weight that do not overlap.
func choose(all []*link, tokens int) []*link {
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.weight != b.weight {
			return a.weight > b.weight
		}
		if a.from != b.from {
			return a.from < b.from
		}
		return a.to < b.to
	})
	taken := make([]bool, tokens)
	var chosen []*link
	for _, k := range all {
		if slices.Contains(taken[k.from:k.to], true) {
			continue
		}
		for i := k.from; i < k.to; i++ {
			taken[i] = true
		}
		chosen = append(chosen, k)
	}
	sort.Slice(chosen, func(i, j int) bool { return chosen[i].from < chosen[j].from })
	return chosen
}

// content are the lemmas of some tokens that names are compared by.
func (l *linker) content(from, to int) []string {
	var words []string
	for _, t := range l.tokens[from:to] {
		if !t.mark && !fillers[t.lower] {
			words = append(words, t.lemma)
		}
	}
	return words
}

var fillers = set("a an the of in for by and s or")

// neverNames are words that ask, and are no names by themselves.
var neverNames = set(`what which who how where when why is are was were do does did has have had many much the a an of in on
	at to for from by with and or that this these those there their it its all any each every as than not no more most less least
	first last next before after above below show list find give return tell get different distinct same other most
	highest lowest largest smallest be been can will would could should did both between only`)

func (l *linker) linkNames(from, to int, at func(int, int) *link) {
	first, last := l.tokens[from], l.tokens[to-1]
	if fillers[first.lower] || fillers[last.lower] || first.quote != 0 {
		return
	}
	words := l.content(from, to)
	if len(words) == 0 || len(words) == 1 && (neverNames[words[0]] || neverNames[first.lower]) {
		return
	}
	asks := len(words) > 1 && neverNames[first.lower] && first.lower != "no"
	if len(words) == 1 && exactWords[words[0]] && words[0] != "id" && to < len(l.tokens) && l.tokens[to].lower == "of" {
		return // "number of": how many
	}
	if first.isNumber && len(words) == 1 && len(first.lower) != 4 {
		return
	}
	initials := l.initials(from, to)
	counts := first.lower == "number" && from+1 < to && l.tokens[from+1].lower == "of"
	for _, t := range l.tokens[from:to] {
		if wordIs(t.lower, "in", "by", "and", "or") {
			return
		}
	}
	for _, t := range l.tables {
		if score := nameScore(words, t.words, nil); score >= 0.6 && !asks {
			k := at(from, to)
			k.tables = append(k.tables, tableMatch{t, score})
			k.weight = max(k.weight, score*weightOf(words))
		}
		for _, c := range t.columns {
			score := c.match(words)
			if counts && len(c.words) > 0 && c.words[len(c.words)-1] == "no" {
				score = 0 // a number of flights is no flight number
			}
			if initials != "" && initials == c.acronym {
				score = 0.95
			}
			score = max(score, c.called(words))
			if asks && (score < 0.9 || !slices.Contains(c.words, first.lower)) {
				continue // "first name" is a name, "most names" is not
			}
			if score >= 0.5 {
				k := at(from, to)
				k.columns = append(k.columns, columnMatch{c, score})
				k.weight = max(k.weight, score*weightOf(words))
			}
		}
	}
}

func weightOf(words []string) float64 { return float64(len(words)) + 0.05 }

// initials are the first letters of several words.
func (l *linker) initials(from, to int) string {
	if to-from < 2 {
		return ""
	}
	var b strings.Builder
	for _, t := range l.tokens[from:to] {
		if !t.mark {
			b.WriteByte(t.lower[0])
		}
	}
	return b.String()
}

// called is how well words such as name and id stand for what rows of the table
// are called by.
func (c *column) called(words []string) float64 {
	if len(words) != 1 {
		return 0
	}
	switch words[0] {
	case "name", "title":
		if c == nameColumn(c.table) {
			return 0.8
		}
	case "id", "code", "identifier":
		if c == keyColumn(c.table) {
			return 0.85
		}
	}
	return 0
}

// match says how well words name a column.
func (c *column) match(words []string) float64 {
	score := nameScore(words, c.words, nil)
	if len(c.short) > 0 && len(c.short) < len(c.words) {
		score = max(score, 0.97*nameScore(words, c.short, nil))
	}
	if score < 0.5 && len(c.hints) > 0 && len(words) <= 3 {
		all := true
		for _, w := range words {
			all = all && slices.Contains(c.hints, w)
		}
		if all && !stopWords[words[0]] {
			score = 0.55
		}
	}
	return score
}

// nameScore says how well words stand for a name: all of them must be in it, and
// the more of it they cover the better.
func nameScore(words, name, _ []string) float64 {
	if len(name) == 0 || len(words) > len(name)+1 {
		return 0
	}
	covered := make([]bool, len(name))
	sum := 0.0
	for _, w := range words {
		best, where := 0.0, -1
		for i, n := range name {
			if s := alike(w, n); s > best && !covered[i] {
				best, where = s, i
			}
		}
		if where < 0 {
			return 0
		}
		covered[where] = true
		sum += best
	}
	n, head := 0.0, covered[len(name)-1] || covered[0]
	for i, c := range covered {
		if c {
			n++
		} else if fillers[name[i]] || genericNames[name[i]] {
			n += 0.5
		}
	}
	coverage := n / float64(len(name))
	if !head {
		coverage *= 0.8
	}
	return sum / float64(len(words)) * (0.5 + 0.5*coverage)
}

// genericNames are words of names that are often left unsaid.
var genericNames = set("name id number no code date total ref list data table info type")

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
		if have[ref.column] {
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
	for _, ref := range t.index.whole[phrase] {
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
	} else if len(word.lower) > 3 {
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
