package catalog

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"parley/llm"
)

// Part is the part of a catalog that depends on one dataset only. It is immutable and
// shared by many catalogs.
type Part struct {
	// table has the column numbers of the part, not of a catalog.
	table   Table
	seen    int64
	columns []Column
	index   *partIndex
	// keys has, for each column, the sorted hashes of its values for finding links,
	// computed on first use.
	keys []func() []uint64
	// names are those of the columns, in lower case.
	names map[string]bool
}

// NewPart makes the part of a dataset, without internal columns: those whose names start
// with __.
func NewPart(p *Profile) *Part {
	hints := p.Description
	if p.DisplayName != "" {
		hints = strings.Join(NameWords(p.Name), " ") + " " + hints
	}
	part := &Part{names: map[string]bool{}, table: Table{Name: p.Name, DisplayName: p.DisplayName, Words: NameWords(cmp.Or(p.DisplayName, p.Name)), Hints: Hints(hints), Rows: p.Rows, Key: -1, Parts: p.Parts}}
	part.table.stems = Stems(part.table.Words)
	seen := p.Rows
	if p.Sampled > 0 {
		seen = min(seen, p.Sampled)
	}
	part.seen = seen
	for i := range p.Columns {
		if strings.HasPrefix(p.Columns[i].Name, "__") {
			continue
		}
		part.table.Columns = append(part.table.Columns, len(part.columns))
		part.names[strings.ToLower(p.Columns[i].Name)] = true
		part.columns = append(part.columns, newColumn(&p.Columns[i], seen))
	}
	part.table.Key = findKey(part.columns)
	part.index = newPartIndex(part.columns)
	for i := range part.columns {
		values := part.columns[i].Values
		part.keys = append(part.keys, sync.OnceValue(func() []uint64 { return linkKeys(values) }))
	}
	return part
}

// Columns returns the columns of the part.
func (p *Part) Columns() []Column { return p.columns }

// Seen returns the number of rows that were read, from the first row on.
func (p *Part) Seen() int64 { return p.seen }

// Size estimates the memory of the part in bytes.
func (p *Part) Size() int {
	const column, hash = 1024, 8
	n := column
	for i := range p.columns {
		n += column
		for _, v := range p.columns[i].Values {
			n += stringSize(v)
			if p.columns[i].Unique {
				n += hash
			}
		}
	}
	return n + p.index.size()
}

// stringSize estimates the memory of a string in bytes.
func stringSize(s string) int {
	const header, unit = 16, 16
	return header + (len(s)+unit-1)/unit*unit
}

// linkKeys returns the sorted hashes of normalized values.
func linkKeys(values []string) []uint64 {
	keys := make([]uint64, len(values))
	for i, v := range values {
		h := fnv.New64a()
		_, _ = h.Write([]byte(normalizeKey(v)))
		keys[i] = h.Sum64()
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Join makes the catalog of some parts. Given links, the first before the others, take
// precedence over inferred ones.
func Join(parts []*Part, given []llm.Link) *Catalog {
	return join(parts, func(c *Catalog) []Link { return c.named(given) })
}

func join(parts []*Part, given func(*Catalog) []Link) *Catalog {
	c := &Catalog{index: &Index{}}
	for _, p := range parts {
		t := p.table
		first := len(c.Columns)
		t.Columns = make([]int, len(p.columns))
		for i := range p.columns {
			t.Columns[i] = first + i
			column := p.columns[i]
			column.Table = len(c.Tables)
			c.Columns = append(c.Columns, column)
		}
		if t.Key >= 0 {
			t.Key += first
		}
		c.Tables = append(c.Tables, t)
		c.index.parts = append(c.index.parts, indexedPart{p.index, t.Columns})
	}
	c.findSignNames()
	f := linkFinder{Catalog: c}
	for _, p := range parts {
		f.keys = append(f.keys, p.keys...)
		f.names = append(f.names, p.names)
	}
	f.find(given(c))
	return c
}

// WithCells returns the catalog with more values in its index. The columns do not list
// them.
func (c *Catalog) WithCells(cells []Cell) *Catalog {
	if len(cells) == 0 {
		return c
	}
	var columns []Column
	var numbers []int
	for _, cell := range cells {
		at := slices.Index(numbers, cell.Column)
		if at < 0 {
			at = len(numbers)
			numbers = append(numbers, cell.Column)
			columns = append(columns, Column{Kind: Text})
		}
		columns[at].Values = append(columns[at].Values, cell.Value)
	}
	more := *c
	more.index = &Index{parts: append(slices.Clip(c.index.parts), indexedPart{newPartIndex(columns), numbers})}
	return &more
}
