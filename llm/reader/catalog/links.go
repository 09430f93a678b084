package catalog

import (
	"slices"
	"strings"
)

// isIdentifier reports whether a column's name says that it identifies something.
func isIdentifier(words []string) bool {
	switch words[len(words)-1] {
	case "id", "ids", "code", "no", "number", "key", "uuid", "#", "identifier":
		return true
	}
	return len(words) == 1 && strings.HasSuffix(words[0], "id") && len(words[0]) > 3
}

// Reference gives the stems of what a column refers to by the words of its name: customer
// for customer_id. It is false where the name does not say so.
func Reference(words []string) (stems []string, ok bool) {
	if len(words) < 2 || !isIdentifier(words) {
		return nil, false
	}
	return Stems(words[:len(words)-1]), true
}

// findKey finds the column that identifies the rows of a table: the first that is
// unique and is named as such, or else the first column if it is unique; -1 for none.
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

// Limits of a link: the least share of distinct values that must be found in the
// other column, and from where on that counts as all of them.
const (
	minIncluded       = 0.6
	minNearlyIncluded = 0.95
)

// commonNames are columns of many tables that say nothing about what they refer to.
var commonNames = WordSet("name title description date type year status id country city state month day time")

// linkFinder infers links.
type linkFinder struct {
	*Catalog
	// keys has the values of each column, as links compare them.
	keys []func() []uint64
	// names has the names of the columns of each table, in lower case.
	names []map[string]bool
}

// find infers which columns refer to other tables, by their names and values.
func (f *linkFinder) find(declared []Link) {
	f.Links = append(f.Links, declared...)
	taken := map[int]bool{}
	for _, l := range declared {
		taken[l.From] = true
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
			inferred = append(inferred, Link{from, to})
		}
	}
	// Two columns that refer to each other are one link, from the later table.
	inferred = slices.DeleteFunc(inferred, func(l Link) bool {
		return l.From < l.To && slices.Contains(inferred, Link{l.To, l.From})
	})
	f.Links = append(f.Links, inferred...)
}

// minRoleValues is how many values a column needs to refer to a table by a role.
const minRoleValues = 3

// byRole finds the key that a column refers to under the name of a role, such as paid_by
// or owner_no: the only one that holds all its values. It gives -1 for none.
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

// mayRefer reports whether a column's name has anything to do with a table, so that its
// columns are worth a look: most have nothing.
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

// normalizeKey gives a value as keys are compared: 1 and 1.0 are the same.
func normalizeKey(v string) string {
	return strings.TrimSuffix(strings.TrimSpace(strings.ToLower(v)), ".0")
}

// score says how much two columns look like a reference and what it refers
// to; 0 is for not at all.
func (f *linkFinder) score(from, to int) float64 {
	a, b := &f.Columns[from], &f.Columns[to]
	if a.Table == b.Table || !b.Unique || b.Kind == Date || a.Filled == 0 || (a.Kind == Number) != (b.Kind == Number) {
		return 0
	}
	if a.Kind == Date || a.Kind == Bool || a.Kind == Other {
		return 0
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

// minSharedKeys is how many values the keys of two tables must share to be the same.
const minSharedKeys = 20

// sameEntity reports whether the keys of two tables may stand for the same things,
// of which each table tells a part: the tables' names share a word.
func (c *Catalog) sameEntity(from, to int) bool {
	a, b := c.Columns[from].Table, c.Columns[to].Table
	return a > b && c.Tables[a].Key == from && c.Tables[b].Key == to && len(c.Columns[to].Values) >= minSharedKeys &&
		overlaps(c.Tables[a].stems, c.Tables[b].stems)
}

// nameScore says how much the names of two columns look like a reference.
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

// includedShare is the share of values of a column that another has; both are sorted. Of a
// column whose values are not all known, those beyond the known ones count as found.
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
