package rules

import (
	"slices"
	"strings"
)

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
	counted := len(words) == 1 && exactWords[words[0]] && words[0] != "id" && to < len(l.tokens) && l.tokens[to].lower == "of"
	if first.isNumber && len(words) == 1 && len(first.lower) != 4 {
		return
	}
	if first.lower == "name" && (from == 0 || wordIs(l.tokens[from-1].lower, "you", "please", "can")) {
		return // "name a dog": an order
	}
	initials := l.initials(from, to)
	counts := first.lower == "number" && from+1 < to && l.tokens[from+1].lower == "of"
	for _, t := range l.tokens[from:to] {
		if wordIs(t.lower, "in", "by", "and", "or") {
			return
		}
	}
	if counts && last.lemma != last.lower && slices.ContainsFunc(l.tables, func(t *table) bool { return nameScore(words[1:], t.words) >= 0.95 }) {
		return // "the number of shops": how many
	}
	for _, t := range l.tables {
		if score := nameScore(words, t.words); score >= 0.6 && !asks {
			k := at(from, to)
			k.tables = append(k.tables, tableMatch{t, score})
			k.weight = max(k.weight, score*weightOf(words))
		}
		for _, c := range t.columns {
			score := c.match(words)
			if counts && len(c.words) > 0 && c.words[len(c.words)-1] == "no" {
				score = 0 // a number of orders is no order number
			}
			if initials != "" && initials == c.acronym {
				score = 0.95
			}
			score = max(score, c.called(words))
			if len(words) > 1 && l.swallows(words, c) || l.unsaidBirth(words, c) {
				continue
			}
			if counts && len(c.words) == 1 && exactWords[c.words[0]] && !l.ofOne(from, from+1) {
				continue
			}
			if counted && (len(c.words) > 1 || !l.ofOne(from, to)) {
				continue // "number of": how many
			}
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

// ofOne reports whether a word of quantity before "of" is a column: the number of
// the invoice, not the number of invoices.
func (l *linker) ofOne(from, to int) bool {
	if !wordIs(l.tokens[from].lemma, "number", "count") {
		return true
	}
	return to+2 < len(l.tokens) && wordIs(l.tokens[to+1].lower, "the", "this", "that", "a") && l.tokens[to+2].lemma == l.tokens[to+2].lower
}

// unsaidBirth reports whether a plain word for a time would stand for a column of
// births, of which the question does not speak: "per year".
func (l *linker) unsaidBirth(words []string, c *column) bool {
	return len(l.tables) > 1 && len(words) == 1 && wordIs(words[0], "year", "date", "month", "day") && tellsBirth(c) && !saysBirth(l.tokens)
}

// tellsBirth reports whether a column is about births.
func tellsBirth(c *column) bool {
	return slices.ContainsFunc(c.words, func(w string) bool { return wordIs(w, "birth", "born", "birthday") })
}

// saysBirth reports whether a question speaks of births, or of how old someone is.
func saysBirth(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return wordIs(t.lemma, "birth", "born", "birthday", "birthdate", "old", "young") })
}

// swallows reports whether words name a table that the column does not: "the
// head of the town" is no column of a city.
func (l *linker) swallows(words []string, c *column) bool {
	for _, t := range l.tables {
		if len(t.words) == 1 && slices.Contains(words, t.words[0]) && !slices.Contains(c.words, t.words[0]) && t != c.table {
			return true
		}
	}
	return false
}

// match says how well words name a column.
func (c *column) match(words []string) float64 {
	score := nameScore(words, c.words)
	if len(c.short) > 0 && len(c.short) < len(c.words) {
		score = max(score, 0.97*nameScore(words, c.short))
	}
	if rest := without(words, c.table.words); len(rest) > 0 && len(rest) < len(words) && len(c.table.words) == 1 && len(without(rest, c.words)) == 0 {
		// "the code of the town"
		score = max(score, 0.98*nameScore(words, append(slices.Clone(c.table.words), c.words...)))
	}
	if score < 0.5 && len(c.hints) > 0 && len(words) <= 3 && !(len(words) > 1 && (isKeyName(c) || overlap(words, c.table.words))) {
		all := true
		for _, w := range words {
			all = all && (slices.Contains(c.hints, w) || takingWords[w] && slices.ContainsFunc(c.hints, func(h string) bool { return takingWords[h] }))
		}
		if all && !stopWords[words[0]] {
			score = describedScore
		}
	}
	return score
}

// describedScore is how well words name a column whose description alone has them.
const describedScore = 0.55

// nameScore says how well words stand for a name: all of them must be in it, and
// the more of it they cover the better.
func nameScore(words, name []string) float64 {
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

// takingWords are what is taken for goods; a description has one of them.
var takingWords = set("revenue turnover sale takings")
