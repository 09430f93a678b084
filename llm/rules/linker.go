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
		if !k.onlyDescribed() || !slices.ContainsFunc(k.within(found), (*link).says) {
			all = append(all, k)
		}
	}
	return choose(all, len(l.tokens))
}

// onlyDescribed reports whether several words are a link only because the
// description of a column has them all.
func (k *link) onlyDescribed() bool {
	return l(k) > 1 && len(k.tables)+len(k.values) == 0 && !slices.ContainsFunc(k.columns, func(m columnMatch) bool { return m.score > describedScore })
}

// within gives the links to fewer of the same words.
func (k *link) within(found map[[2]int]*link) []*link {
	var parts []*link
	for from := k.from; from < k.to; from++ {
		for to := from + 1; to <= k.to; to++ {
			if part := found[[2]int{from, to}]; part != nil && part != k {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// says reports whether a link stands for a value as it is, or for a name.
func (k *link) says() bool {
	return slices.ContainsFunc(k.values, func(m valueMatch) bool { return m.exact }) ||
		slices.ContainsFunc(k.columns, func(m columnMatch) bool { return m.score >= 0.75 }) ||
		slices.ContainsFunc(k.tables, func(m tableMatch) bool { return m.score >= 0.75 })
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
