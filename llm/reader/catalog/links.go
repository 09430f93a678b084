package catalog

import (
	"slices"
	"strings"

	"parley/llm"
)

// isIdentifier reports whether a column is an identifier by its name.
func isIdentifier(words []string) bool {
	switch words[len(words)-1] {
	case "id", "ids", "code", "no", "number", "key", "uuid", "#", "identifier":
		return true
	}
	return len(words) == 1 && strings.HasSuffix(words[0], "id") && len(words[0]) > 3
}

// Reference returns the stems of what a column refers to by its name: customer for
// customer_id. ok is false for a name that is no reference.
func Reference(words []string) (stems []string, ok bool) {
	if len(words) < 2 || !isIdentifier(words) {
		return nil, false
	}
	return Stems(words[:len(words)-1]), true
}

// findKey returns the key column of a table: the first unique column with the name of an
// identifier, or else the first column if it is unique; -1 for none.
func findKey(columns []Column) int {
	key := -1
	for i := range columns {
		c := &columns[i]
		if !c.Unique || c.Kind == Date || c.Kind == Other {
			continue
		}
		if isIdentifier(c.Words) {
			return i
		}
		if i == 0 {
			key = i
		}
	}
	return key
}

// Limits of a link: the minimum share of distinct values that the other column must have,
// and the share from which it counts as all.
const (
	minIncluded       = 0.6
	minNearlyIncluded = 0.95
)

// commonNames are column names of many tables that do not indicate a reference.
var commonNames = WordSet("name title description date type year status id country city state month day time")

// linkFinder infers links.
type linkFinder struct {
	*Catalog
	// keys has hashes of the normalized values of each column.
	keys []func() []uint64
	// names has the names of the columns of each table, in lower case.
	names []map[string]bool
}

// find infers links from the names and values of columns that have none yet.
func (f *linkFinder) find(given []Link) {
	f.Links = append(f.Links, given...)
	taken := map[int]bool{}
	for _, l := range given {
		taken[l.From] = taken[l.From] || l.Also == nil
	}
	var inferred []Link
	for from := range f.Columns {
		if taken[from] {
			continue
		}
		best, to := 0.0, -1
		for t := range f.Tables {
			if f.Columns[from].Table == t || !f.mayRefer(from, t) {
				continue
			}
			for _, candidate := range f.Tables[t].Columns {
				if score := f.score(from, candidate); score > best {
					best, to = score, candidate
				}
			}
		}
		if to < 0 {
			to = f.byRole(from)
		}
		if to >= 0 {
			inferred = append(inferred, Link{From: from, To: to})
		}
	}
	// Two columns that refer to each other are one link, from the later table.
	inferred = slices.DeleteFunc(inferred, func(l Link) bool {
		return l.From < l.To && slices.Contains(inferred, Link{From: l.To, To: l.From})
	})
	f.Links = append(f.Links, inferred...)
}

// minRoleValues is the minimum number of values of a column for a link by role.
const minRoleValues = 3

// byRole finds the key that a column named after a role refers to, such as paid_by or
// owner_no: the only key that has all its values; -1 for none.
func (f *linkFinder) byRole(from int) int {
	a := &f.Columns[from]
	last := a.Words[len(a.Words)-1]
	if len(a.Words) < 2 || f.Tables[a.Table].Key == from || a.Distinct < minRoleValues || a.Kind != Number && a.Kind != Text || commonNames[last] && last != "id" {
		return -1
	}
	// Small numbers are in every key; and a manager is in the table itself.
	own := f.Tables[a.Table].Key
	if a.Kind == Number && last == "id" || own >= 0 && f.Columns[own].Kind == a.Kind && includedShare(f.keys[from](), f.keys[own](), f.Columns[own].Complete) == 1 {
		return -1
	}
	found := -1
	for t := range f.Tables {
		key := f.Tables[t].Key
		if t == a.Table || key < 0 {
			continue
		}
		b := &f.Columns[key]
		if last != "by" && last != b.Words[len(b.Words)-1] || a.Kind != b.Kind || includedShare(f.keys[from](), f.keys[key](), b.Complete) < 1 {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = key
	}
	return found
}

// mayRefer reports whether a column's name is related to a table. It excludes most pairs
// cheaply.
func (f *linkFinder) mayRefer(from, table int) bool {
	own, t := &f.Columns[from], &f.Tables[table]
	if overlaps(own.stems, t.stems) || samePrefix(own.stems, t.stems) || f.names[table][strings.ToLower(own.Name)] {
		return true
	}
	if t.Key < 0 {
		return false
	}
	return isSubset(f.Columns[t.Key].stems, own.stems) || f.Tables[own.Table].Key == from && overlaps(f.Tables[own.Table].stems, t.stems)
}

// normalizeKey normalizes a value for comparing keys: 1 and 1.0 are equal.
func normalizeKey(v string) string {
	return strings.TrimSuffix(strings.TrimSpace(strings.ToLower(v)), ".0")
}

// score rates two columns as reference and referenced column; 0 for none.
func (f *linkFinder) score(from, to int) float64 {
	a, b := &f.Columns[from], &f.Columns[to]
	if a.Table == b.Table || !b.Unique || b.Kind == Date || a.Filled == 0 || (a.Kind == Number) != (b.Kind == Number) {
		return 0
	}
	if a.Kind == Date || a.Kind == Bool || a.Kind == Other {
		return 0
	}
	if a.Kind == Number && to != f.Tables[b.Table].Key && !isIdentifier(a.Words) && !isIdentifier(b.Words) {
		return 0 // measures may have equal values
	}
	score := f.nameScore(from, to)
	if score == 0 && f.sameEntity(from, to) && includedShare(f.keys[to](), f.keys[from](), a.Complete) >= minNearlyIncluded {
		score = 1
	}
	if score == 0 {
		return 0
	}
	share := includedShare(f.keys[from](), f.keys[to](), b.Complete)
	if share < minIncluded {
		return 0
	}
	if to == f.Tables[b.Table].Key {
		score++
	}
	if share < minNearlyIncluded {
		score--
	}
	return score
}

// minSharedKeys is the minimum number of key values for two tables to describe the same
// entity.
const minSharedKeys = 20

// sameEntity reports whether two tables may describe the same entities under the same key:
// their names share a word.
func (c *Catalog) sameEntity(from, to int) bool {
	a, b := c.Columns[from].Table, c.Columns[to].Table
	return a > b && c.Tables[a].Key == from && c.Tables[b].Key == to && len(c.Columns[to].Values) >= minSharedKeys &&
		overlaps(c.Tables[a].stems, c.Tables[b].stems)
}

// nameScore rates two columns as reference and referenced column by their names.
func (c *Catalog) nameScore(from, to int) float64 {
	a, b := &c.Columns[from], &c.Columns[to]
	own, other, table := a.stems, b.stems, c.Tables[b.Table].stems
	same := strings.EqualFold(a.Name, b.Name)
	key := from == c.Tables[a.Table].Key
	score := 0.0
	switch {
	case strings.EqualFold(a.Name, "id"), key && !same:
		return 0
	case same && (isIdentifier(b.Words) || len(a.Words) > 1 || !commonNames[a.Words[0]]):
		score = 3
	}
	switch {
	case overlaps(own, table) && (isIdentifier(a.Words) || isSubsetOfEither(own, table, other)):
		score = max(score, 2.5)
	case samePrefix(own, table) && isIdentifier(a.Words) && isIdentifier(b.Words):
		score = max(score, 1.5)
	case isSubset(other, own) && isIdentifier(b.Words) && to == c.Tables[b.Table].Key && len(other) > 1:
		score = max(score, 2)
	}
	return score
}

// samePrefix reports whether the first words of two names begin with the same letters.
func samePrefix(a, b []string) bool {
	return a[0][:min(3, len(a[0]))] == b[0][:min(3, len(b[0]))]
}

func overlaps(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
}

func isSubset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// isSubsetOfEither reports whether all words are in one of two lists or the other.
func isSubsetOfEither(words, a, b []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(a, w) && !slices.Contains(b, w) })
}

// includedShare returns the share of the sorted keys a that b has. If b is not complete,
// one common key is enough for all.
func includedShare(a, b []uint64, complete bool) float64 {
	if len(a) == 0 {
		return 0
	}
	found, at := 0, 0
	for _, v := range a {
		for at < len(b) && b[at] < v {
			at++
		}
		if at < len(b) && b[at] == v {
			found++
		}
	}
	if !complete && found > 0 {
		return 1
	}
	return float64(found) / float64(len(a))
}

// named finds the columns of links, without those whose columns do not exist and those
// within a table. A link whose values are unique in From alone is turned around.
func (c *Catalog) named(links []llm.Link) []Link {
	var all []Link
	for _, n := range links {
		if n.ManyTo && !n.ManyFrom {
			n.From, n.Columns, n.To, n.ToColumns, n.ManyTo = n.To, n.ToColumns, n.From, n.Columns, false
		}
		label := Hints(n.Label)
		if l := c.findLink(n); l != nil && !hasPair(all, l.From, l.To) && !hasPair(all, l.To, l.From) {
			all = append(all, *l)
			for _, pair := range l.Pairs() {
				column := &c.Columns[pair[0]]
				column.Hints = append(slices.Clip(column.Hints), label...)
			}
		}
	}
	return all
}

// hasPair reports whether a link of single columns has these.
func hasPair(links []Link, from, to int) bool {
	for _, l := range links {
		if l.From == from && l.To == to && l.Also == nil {
			return true
		}
	}
	return false
}

func (c *Catalog) findLink(n llm.Link) *Link {
	var link *Link
	for i := len(n.Columns) - 1; i >= 0; i-- {
		from, to := c.findColumn(n.From, n.Columns[i]), c.findColumn(n.To, n.ToColumns[i])
		if from < 0 || to < 0 || c.Columns[from].Table == c.Columns[to].Table {
			return nil
		}
		// A key of each part may occur in several parts.
		repeated := len(n.Columns) == 1 && len(c.Tables[c.Columns[to].Table].Parts) > 0 && !c.Columns[to].Unique
		link = &Link{From: from, To: to, Many: n.ManyTo || repeated, Also: link, Declared: n.Declared}
	}
	return link
}

// findColumn returns the number of a column; -1 for none.
func (c *Catalog) findColumn(table, name string) int {
	for i := range c.Columns {
		if column := &c.Columns[i]; strings.EqualFold(column.Name, name) && strings.EqualFold(c.Tables[column.Table].Name, table) {
			return i
		}
	}
	return -1
}

// Pairs returns the pairs of columns that a link has.
func (l *Link) Pairs() [][2]int {
	var pairs [][2]int
	for ; l != nil; l = l.Also {
		pairs = append(pairs, [2]int{l.From, l.To})
	}
	return pairs
}

// renumber returns a link with other numbers of its columns.
func (l *Link) renumber(number []int) *Link {
	if l == nil {
		return nil
	}
	other := *l
	other.From, other.To, other.Also = number[l.From], number[l.To], l.Also.renumber(number)
	return &other
}
