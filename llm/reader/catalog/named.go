package catalog

import (
	"slices"
	"strings"

	"parley/llm"
)

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
