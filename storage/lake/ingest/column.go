package ingest

import "slices"

const (
	// maxTexts is how many texts a column has, in a block of records, before it
	// is no longer asked what its other cells are.
	maxTexts = 100
	// maxGroups is how many kinds and forms a column may have; more are text.
	maxGroups = 32
)

// cellGroup counts the cells of a column that have the same kind and form.
type cellGroup struct {
	kind  kind
	form  form
	count int64
	// lines are the first lines of such cells.
	lines []int64
}

// columnCells are the cells of a column.
type columnCells struct {
	groups []cellGroup
	// last is the group of the last cell.
	last int
	// empty counts cells without a value.
	empty int64
	// text says that there are so many texts that the kinds of further cells were
	// not counted.
	text bool
}

// add counts a cell.
func (c *columnCells) add(k kind, f form, line int64) {
	if c.last >= len(c.groups) || c.groups[c.last].kind != k || c.groups[c.last].form != f {
		c.last = c.find(k, f)
	}
	g := &c.groups[c.last]
	g.count++
	if len(g.lines) < maxLines {
		g.lines = append(g.lines, line)
	}
	if k == kindText && g.count > maxTexts {
		c.text = true
	}
}

// find gives the index of a group, which it adds if there is none.
func (c *columnCells) find(k kind, f form) int {
	i := slices.IndexFunc(c.groups, func(g cellGroup) bool { return g.kind == k && g.form == f })
	if i >= 0 {
		return i
	}
	if len(c.groups) >= maxGroups && k != kindText {
		return c.find(kindText, 0)
	}
	c.groups = append(c.groups, cellGroup{kind: k, form: f})
	return len(c.groups) - 1
}

// merge adds the cells of a block that begins after some lines.
func (c *columnCells) merge(next *columnCells, lines int64) {
	c.empty += next.empty
	c.text = c.text || next.text
	for _, g := range next.groups {
		to := &c.groups[c.find(g.kind, g.form)]
		to.count += g.count
		for _, line := range g.lines[:min(len(g.lines), maxLines-len(to.lines))] {
			to.lines = append(to.lines, line+lines)
		}
	}
}

// kinds gives the kinds of the cells that have a value.
func (c *columnCells) kinds() (seen kindSet) {
	for _, g := range c.groups {
		if g.kind != kindMissing {
			seen |= g.kind.set()
		}
	}
	return seen
}

// missing counts the cells that spell a missing value.
func (c *columnCells) missing() int64 {
	for _, g := range c.groups {
		if g.kind == kindMissing {
			return g.count
		}
	}
	return 0
}
