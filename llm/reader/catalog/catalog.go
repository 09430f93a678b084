// Package catalog describes the tables that a question can be about: typed
// columns, the words of their names, sampled values and the keys between them. It
// reads no data itself: [Profile] values come from a query engine at run time and
// from files in training, and mean the same in both.
package catalog

import "slices"

// Kind is what the values of a column are, whatever their type in the database.
type Kind uint8

// The kinds of columns.
const (
	Text Kind = iota
	Number
	Date
	Bool
	// Clock is a duration or a time of day, such as 7:24.
	Clock
	// Other is a list, a struct or bytes: it can be shown and not compared.
	Other
)

// Profile is what is known of one dataset.
type Profile struct {
	Name        string
	Description string
	Rows        int64
	// Sampled is how many rows were looked at; 0 for all.
	Sampled int64
	Columns []ColumnProfile
}

// ColumnProfile is what is known of one column of a dataset.
type ColumnProfile struct {
	Name        string
	Description string
	// Type is DuckDB's name of it.
	Type string
	// Values are distinct ones as text, sorted; Complete says that they are all.
	Values   []string
	Complete bool
	// Distinct counts distinct values, Filled cells that are not NULL, of the rows
	// that were looked at.
	Distinct, Filled int64
	// Least and Most are the ends of a type with an order, as text; "" where they are not
	// known.
	Least, Most string
}

// Table is a dataset of a [Catalog].
type Table struct {
	Name string
	// Words are the words of the name, in lower case.
	Words []string
	// Hints are the stems of words of the description.
	Hints []string
	Rows  int64
	// Columns are indexes into the catalog's columns.
	Columns []int
	// Key is the column that identifies a row, -1 when there is none.
	Key   int
	stems []string
}

// Column is a column of a [Catalog].
type Column struct {
	Table int
	Name  string
	Words []string
	Hints []string
	Kind  Kind
	// Native says that the database's own type is of this kind. Otherwise the
	// column is text that reads as such.
	Native bool
	// Integers says that all numbers are whole, DecimalComma that texts write fractions
	// with a comma: 12,50.
	Integers, DecimalComma bool
	// Unit is what its numbers are measured in, see [Convert]; "" where that is unknown.
	Unit string
	// Values are distinct ones, sorted; Complete says that they are all.
	Values           []string
	Complete         bool
	Distinct, Filled int64
	// Least and Most are the ends of a type with an order, as text; "" where they are not
	// known.
	Least, Most string
	// Unique says that no value occurs twice and none is missing.
	Unique bool
	stems  []string
}

// Link says that the values of one column refer to rows of another table.
type Link struct {
	// From refers to To, which is unique in its table.
	From, To int
}

// Catalog is the tables that one question can be about.
type Catalog struct {
	Tables  []Table
	Columns []Column
	Links   []Link
	index   *Index
}

// New makes the catalog of some datasets. Declared links go before inferred ones.
func New(profiles []*Profile, declared []Link) *Catalog {
	parts := make([]*Part, len(profiles))
	for i, p := range profiles {
		parts[i] = NewPart(p)
	}
	return Join(parts, declared)
}

// newColumn makes a column of a profile of so many rows.
func newColumn(p *ColumnProfile, rows int64) Column {
	c := Column{Name: p.Name, Words: NameWords(p.Name), Hints: Hints(p.Description),
		Values: p.Values, Complete: p.Complete, Distinct: p.Distinct, Filled: p.Filled, Least: p.Least, Most: p.Most}
	c.stems = Stems(c.Words)
	c.Kind, c.Native, c.Integers = kindOfType(p.Type)
	if c.Kind == Text {
		c.Kind, c.Integers = kindOfValues(p.Values)
		c.Native = c.Kind == Text
		c.DecimalComma = c.Kind == Number && decimalComma(p.Values)
	}
	switch c.Kind {
	case Number:
		c.Unit = columnUnit(c.Words, c.Hints)
	case Clock:
		c.Unit = "second"
	}
	c.Unique = c.Filled > 0 && c.Distinct == c.Filled && c.Filled >= rows
	return c
}

// Stems are those of the words that a table is called by.
func (t *Table) Stems() []string { return t.stems }

// Stems are those of the words that a column is called by.
func (c *Column) Stems() []string { return c.stems }

// Index finds values by their words.
func (c *Catalog) Index() *Index { return c.index }

// NameStems gives the stems of the words that tables and columns are called by.
func (c *Catalog) NameStems() map[string]bool {
	stems := map[string]bool{}
	for i := range c.Tables {
		for _, s := range c.Tables[i].stems {
			stems[s] = true
		}
	}
	for i := range c.Columns {
		for _, s := range c.Columns[i].stems {
			stems[s] = true
		}
	}
	return stems
}

// IsReference reports whether a column refers to another table.
func (c *Catalog) IsReference(column int) bool {
	for _, l := range c.Links {
		if l.From == column {
			return true
		}
	}
	return false
}

// Limits of the values that a profile holds.
const (
	maxValues   = 1_000
	minValues   = 80
	tableValues = 6_000
	// MaxValueLength is the most characters of a value that a profile holds.
	MaxValueLength = 120
)

// ValueLimit is how many distinct values of each column a profile of so many columns
// holds.
func ValueLimit(columns int) int {
	return max(minValues, min(maxValues, tableValues/max(columns, 1)))
}

// TruncateValue shortens a value to what a profile holds of it.
func TruncateValue(v string) string {
	n := 0
	for i := range v {
		if n == MaxValueLength {
			return v[:i]
		}
		n++
	}
	return v
}

// WithoutColumn gives the catalog without one column, which no link may use.
func (c *Catalog) WithoutColumn(column int) *Catalog {
	less := &Catalog{index: &Index{}}
	number := make([]int, len(c.Columns))
	for i := range c.Columns {
		number[i] = len(less.Columns)
		if i != column {
			less.Columns = append(less.Columns, c.Columns[i])
		}
	}
	for _, p := range c.index.parts {
		numbers := make([]int, len(p.numbers))
		for i, n := range p.numbers {
			numbers[i] = -1
			if n >= 0 && n != column {
				numbers[i] = number[n]
			}
		}
		less.index.parts = append(less.index.parts, indexedPart{p.partIndex, numbers})
	}
	for _, t := range c.Tables {
		columns := t.Columns
		t.Columns = nil
		for _, i := range columns {
			if i != column {
				t.Columns = append(t.Columns, number[i])
			}
		}
		if t.Key >= 0 {
			t.Key = number[t.Key]
		}
		less.Tables = append(less.Tables, t)
	}
	for _, l := range c.Links {
		less.Links = append(less.Links, Link{number[l.From], number[l.To]})
	}
	return less
}

// WithNames gives the catalog with other words in the names of some tables and columns.
func (c *Catalog) WithNames(tables, columns map[int][]string) *Catalog {
	other := *c
	other.Tables, other.Columns = slices.Clone(c.Tables), slices.Clone(c.Columns)
	for i, words := range tables {
		other.Tables[i].Words, other.Tables[i].stems = words, Stems(words)
	}
	for i, words := range columns {
		other.Columns[i].Words, other.Columns[i].stems = words, Stems(words)
	}
	return &other
}

// WithDescription gives the catalog with other words in the name of a column, whose own become
// words of its description.
func (c *Catalog) WithDescription(column int, words, more []string) *Catalog {
	other := c.WithNames(nil, map[int][]string{column: words})
	other.Columns[column].Hints = append(Stems(c.Columns[column].Words), Stems(more)...)
	return other
}
