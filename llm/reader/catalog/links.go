package catalog

import (
	"slices"
	"strings"
)

// identifier reports whether a column's name says that it identifies something.
func identifier(words []string) bool {
	switch words[len(words)-1] {
	case "id", "ids", "code", "no", "number", "key", "uuid", "#", "identifier":
		return true
	}
	return len(words) == 1 && strings.HasSuffix(words[0], "id") && len(words[0]) > 3
}

// findKeys finds the column that identifies the rows of each table: the first that
// is unique and is named as such, or else the first column if it is unique.
func (c *Catalog) findKeys() {
	for t := range c.Tables {
		table := &c.Tables[t]
		for n, i := range table.Columns {
			column := &c.Columns[i]
			if !column.Unique || column.Kind == Date || column.Kind == Other {
				continue
			}
			if named := identifier(column.Words); named || n == 0 {
				table.Key = i
				if named {
					break
				}
			}
		}
	}
}

// Limits of a link: the least share of distinct values that must be found in the
// other column, and from where on that counts as all of them.
const (
	leastIncluded  = 0.6
	nearlyIncluded = 0.95
)

// commonNames are columns of many tables that say nothing about what they refer to.
var commonNames = set("name title description date type year status id country city state month day time")

// findLinks infers which columns refer to other tables, by their names and values.
func (c *Catalog) findLinks(declared []Link) {
	c.Links = append(c.Links, declared...)
	taken := map[int]bool{}
	for _, l := range declared {
		taken[l.From] = true
	}
	sets := make([]map[string]bool, len(c.Columns))
	values := func(i int) map[string]bool {
		if sets[i] == nil {
			sets[i] = make(map[string]bool, len(c.Columns[i].Values))
			for _, v := range c.Columns[i].Values {
				sets[i][comparableValue(v)] = true
			}
		}
		return sets[i]
	}
	var inferred []Link
	for from := range c.Columns {
		if taken[from] {
			continue
		}
		best, to := 0.0, -1
		for candidate := range c.Columns {
			if score := c.linkScore(from, candidate, values); score > best {
				best, to = score, candidate
			}
		}
		if to >= 0 {
			inferred = append(inferred, Link{from, to})
		}
	}
	// Two columns that refer to each other are one link, from the later table.
	inferred = slices.DeleteFunc(inferred, func(l Link) bool {
		return l.From < l.To && slices.Contains(inferred, Link{l.To, l.From})
	})
	c.Links = append(c.Links, inferred...)
}

// comparableValue gives a value as keys are compared: 1 and 1.0 are the same.
func comparableValue(v string) string {
	return strings.TrimSuffix(strings.TrimSpace(strings.ToLower(v)), ".0")
}

// linkScore says how much two columns look like a reference and what it refers
// to; 0 is for not at all.
func (c *Catalog) linkScore(from, to int, values func(int) map[string]bool) float64 {
	a, b := &c.Columns[from], &c.Columns[to]
	if a.Table == b.Table || !b.Unique || a.Filled == 0 || (a.Kind == Number) != (b.Kind == Number) {
		return 0
	}
	if a.Kind == Date || a.Kind == Bool || a.Kind == Other || b.Kind == Date {
		return 0
	}
	score := c.nameScore(from, to)
	if score == 0 && c.sameThing(from, to) && included(values(to), values(from), a.Complete) >= nearlyIncluded {
		score = 1
	}
	if score == 0 {
		return 0
	}
	share := included(values(from), values(to), b.Complete)
	if share < leastIncluded {
		return 0
	}
	if to == c.Tables[b.Table].Key {
		score++
	}
	if share < nearlyIncluded {
		score--
	}
	return score
}

// leastSame is how many values the keys of two tables must share to be the same.
const leastSame = 20

// sameThing reports whether the keys of two tables may stand for the same things,
// of which each table tells a part: the tables' names share a word.
func (c *Catalog) sameThing(from, to int) bool {
	a, b := c.Columns[from].Table, c.Columns[to].Table
	return a > b && c.Tables[a].Key == from && c.Tables[b].Key == to && len(c.Columns[to].Values) >= leastSame &&
		overlaps(Stems(c.Tables[a].Words), Stems(c.Tables[b].Words))
}

// nameScore says how much the names of two columns look like a reference.
func (c *Catalog) nameScore(from, to int) float64 {
	a, b := &c.Columns[from], &c.Columns[to]
	own, other, table := Stems(a.Words), Stems(b.Words), Stems(c.Tables[b.Table].Words)
	same := strings.EqualFold(a.Name, b.Name)
	key := from == c.Tables[a.Table].Key
	score := 0.0
	switch {
	case strings.EqualFold(a.Name, "id"), key && !same:
		return 0
	case same && (identifier(b.Words) || len(a.Words) > 1 || !commonNames[a.Words[0]]):
		score = 3
	}
	switch {
	case overlaps(own, table) && (identifier(a.Words) || within(own, append(slices.Clone(table), other...))):
		score = max(score, 2.5)
	case own[0][:min(3, len(own[0]))] == table[0][:min(3, len(table[0]))] && identifier(a.Words) && identifier(b.Words):
		score = max(score, 1.5)
	case within(other, own) && identifier(b.Words) && to == c.Tables[b.Table].Key && len(other) > 1:
		score = max(score, 2)
	}
	return score
}

func overlaps(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
}

func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// included is the share of values of a column that another has. Of a column whose
// values are not all known, those beyond the known ones count as found.
func included(a, b map[string]bool, complete bool) float64 {
	if len(a) == 0 {
		return 0
	}
	found := 0
	for v := range a {
		if b[v] {
			found++
		}
	}
	if !complete && found > 0 {
		return 1
	}
	return float64(found) / float64(len(a))
}
