package rules

import (
	"slices"
	"strings"
)

// edge is a way to join two tables: many.column refers to one.column, which is
// unique.
type edge struct {
	many, one *column
	score     float64
}

// joinGraph is how tables can be joined.
type joinGraph struct {
	edges []edge
	// refs are the columns that only tell or join rows.
	refs map[*column]bool
	// said are the words of the question, which tell which way is meant.
	said []string
}

// newJoinGraph infers keys from names and values.
func newJoinGraph(tables []*table) *joinGraph {
	g := &joinGraph{refs: map[*column]bool{}}
	for _, many := range tables {
		for _, a := range many.columns {
			g.edges = append(g.edges, references(a, tables)...)
		}
	}
	for _, e := range g.edges {
		g.refs[e.many], g.refs[e.one] = true, true
	}
	for _, t := range tables {
		for _, c := range t.columns {
			if c.unique && isKeyName(c) && c.kind == kindNumber {
				g.refs[c] = true
			}
		}
	}
	return g
}

// references are what a column refers to: one column, or several that are as
// likely.
func references(a *column, tables []*table) (found []edge) {
	best := 0.0
	defer func() {
		if len(found) == 0 {
			found = unnamed(a, tables)
		}
	}()
	for _, one := range tables {
		if one == a.table {
			continue
		}
		e := edge{}
		for _, b := range one.columns {
			if score := keyScore(a, b); score > e.score {
				e = edge{a, b, score}
			}
		}
		if e.score > 0 {
			found = append(found, e)
			best = max(best, e.score)
		}
	}
	return slices.DeleteFunc(found, func(e edge) bool { return e.score < best-0.04 })
}

// unnamed finds what a key refers to by its values alone: the one table whose key
// has them all.
func unnamed(a *column, tables []*table) []edge {
	if a.unique && a.order == 0 || !a.complete || a.distinct < 2 || len(a.words) == 0 || !slices.Contains(keyWords, a.words[len(a.words)-1]) {
		return nil
	}
	var found []edge
	for _, one := range tables {
		b := keyColumn(one)
		if one == a.table || b == nil || b.order != 0 || b.kind != a.kind || !b.complete || containment(a, b) < 1 {
			continue
		}
		found = append(found, edge{a, b, 0.5})
	}
	if len(found) != 1 {
		return nil
	}
	return found
}

// keyScore says how likely a refers to b; 0 when it does not.
func keyScore(a, b *column) float64 {
	if !b.unique || a.kind == kindDate || a.filled == 0 || a.typed && a.kind != b.kind {
		return 0
	}
	name := 0.0
	self := slices.Equal(b.short, []string{"id"}) || slices.Equal(b.words, b.table.words) || isKeyName(b)
	bare := len(without(a.words, keyWords)) == 0
	switch {
	case bare && a.unique:
		// The key of a table by itself refers to nothing by its name.
	case strings.EqualFold(a.name, b.name) && isKeyName(b) && overlap(b.words, b.table.words):
		name = 1
	case strings.EqualFold(a.name, b.name) && isKeyName(b):
		name = 0.9
	case strings.EqualFold(a.name, b.name) && len(b.words) > 1:
		name = 0.85
	case self && overlap(a.words, b.table.words):
		name = 0.8
	case overlap(without(a.words, keyWords), without(b.words, keyWords)) && isKeyName(b):
		name = 0.7
	case overlap(a.words, b.words) && b.kind != kindNumber:
		name = 0.5
	}
	in := containment(a, b)
	if name < 0.6 && a.unique && in == 1 && a.distinct == b.distinct && a.distinct >= 20 && isKeyName(a) && isKeyName(b) {
		// Two keys with the same many values tell the same things apart.
		name = 0.6
		if overlap(a.table.words, b.table.words) {
			name = 0.75
		}
	}
	if name == 0 {
		return 0
	}
	if in < 0.5 {
		return 0
	}
	if in < 0.95 {
		name *= in * 0.8
	}
	// The key of the referring table itself is a weak reference.
	if a.unique && a.order == 0 {
		name *= 0.9
	}
	return name
}

var keyWords = []string{"id", "code", "no", "number", "key", "uid"}

func isKeyName(c *column) bool {
	last := ""
	if len(c.words) > 0 {
		last = c.words[len(c.words)-1]
	}
	return slices.Contains(keyWords, last) || c.order == 0 && c.unique
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || len(x) >= 4 && len(y) >= 4 && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
				return true
			}
		}
	}
	return false
}

// containment is the share of a's values that are among b's, as far as they are
// known.
func containment(a, b *column) float64 {
	if !a.complete || !b.complete {
		if a.kind == b.kind {
			return 1
		}
		return 0
	}
	have := make(map[string]bool, len(b.normal))
	for _, v := range b.normal {
		have[v] = true
	}
	in, all := 0, 0
	for _, v := range a.normal {
		if v == "" {
			continue
		}
		all++
		if have[v] {
			in++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(in) / float64(all)
}
