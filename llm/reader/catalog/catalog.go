// Package catalog describes the tables that a question can be about: typed columns, the
// words of their names, sample values, and references between tables. It reads no data: a
// [Profile] comes from package profile at run time and from files in training, with the
// same meaning.
package catalog

import "slices"

// Kind is the kind of a column's values, independent of the type in the database.
type Kind uint8

// The kinds of columns.
const (
	Text Kind = iota
	Number
	Date
	Bool
	// Clock is a duration or a time of day, such as 7:24.
	Clock
	// Other is a list, a struct or bytes: it can be shown but not compared. A list of texts can be
	// searched for a value.
	Other
)

// Profile has the statistics and sample values of one dataset.
type Profile struct {
	Name string
	// DisplayName is what people call the rows; "" for the words of the name.
	DisplayName string
	Description string
	Rows        int64
	// Sampled is the number of rows that were read; 0 for all.
	Sampled int64
	Columns []ColumnProfile
	// Parts are the datasets whose rows this one combines; nil for one that is stored.
	Parts []string
}

// ColumnProfile has the statistics and sample values of one column.
type ColumnProfile struct {
	Name        string
	Description string
	// Type is the name of the DuckDB type.
	Type string
	// Values are distinct values as text, sorted, of lists those of the members; Complete says that
	// there are no others.
	Values   []string
	Complete bool
	// Distinct counts distinct values, Filled cells that are not NULL, in the rows that
	// were read.
	Distinct, Filled int64
	// Least and Most are the minimum and maximum of an ordered type, as text; "" if
	// unknown.
	Least, Most string
}

// Table is a dataset of a [Catalog].
type Table struct {
	Name string
	// DisplayName is what people call the rows; "" for the words of the name.
	DisplayName string
	// Words are those of DisplayName, or else of the name, in lower case.
	Words []string
	// Hints are the stems of words of the description.
	Hints []string
	Rows  int64
	// Columns are indexes into the catalog's columns.
	Columns []int
	// Key is the column that identifies a row; -1 for none.
	Key int
	// Parts are the datasets whose rows the table combines; nil for one that is stored.
	Parts []string
	stems []string
}

// Column is a column of a [Catalog].
type Column struct {
	Table int
	Name  string
	Words []string
	Hints []string
	Kind  Kind
	// Native says that the database type is of this kind. Otherwise the column is text that
	// can be parsed as such.
	Native bool
	// HasTime says that its dates have a time of day.
	HasTime bool
	// Integers says that all numbers are integers, DecimalComma that the texts have a
	// decimal comma: 12,50. Multiplies says that letters after the numbers are those of
	// [Multipliers], and DayFirst that dates are d/m/y.
	Integers, DecimalComma, Multiplies, DayFirst bool
	// Doubt says why texts cannot be compared as Kind, and Doubtful are some of these texts.
	Doubt    Doubt
	Doubtful []string
	// Unit is the unit of the numbers, see [Convert]; "" if unknown.
	Unit string
	// Separator separates the values in cells that hold several, such as "France, Spain"; "" where each holds one.
	Separator string
	// List says that the cells are lists of texts, whose members are the Values.
	List bool
	// Values are distinct ones, sorted; Complete says that they are all.
	Values           []string
	Complete         bool
	Distinct, Filled int64
	// Missing says that some rows that were read have no value.
	Missing bool
	// Least and Most are the ends of a type with an order, as text; "" where they are not
	// known.
	Least, Most string
	// Unique says that no value is repeated and none is missing.
	Unique bool
	stems  []string
}

// Link says that the values of one column refer to rows of another table, as a foreign key
// does. Links can be compared.
type Link struct {
	// From refers to To, which is unique in its table unless Many is set.
	From, To int
	Many     bool
	// Also is another pair of columns that must be equal too; nil for none.
	Also *Link
	// Declared says that a user has declared the link.
	Declared bool
}

// Catalog has the tables that a question can be about.
type Catalog struct {
	Tables  []Table
	Columns []Column
	Links   []Link
	index   *Index
	// signNames is what SignNames returns.
	signNames map[string]bool
}

// New makes the catalog of datasets. Declared links take precedence over inferred ones.
func New(profiles []*Profile, declared []Link) *Catalog {
	parts := make([]*Part, len(profiles))
	for i, p := range profiles {
		parts[i] = NewPart(p)
	}
	return join(parts, func(*Catalog) []Link { return declared })
}

// newColumn makes a column from its profile; rows is the number of rows that were read.
func newColumn(p *ColumnProfile, rows int64) Column {
	c := Column{Name: p.Name, Words: NameWords(p.Name), Hints: Hints(p.Description),
		Values: p.Values, Complete: p.Complete, Distinct: p.Distinct, Filled: p.Filled, Least: p.Least, Most: p.Most}
	c.stems = Stems(c.Words)
	c.Kind, c.Native, c.Integers = kindOfType(p.Type)
	c.List = IsList(p.Type)
	c.HasTime = c.Kind == Date && p.Type != "DATE"
	if c.Kind == Text {
		c.Kind, c.Integers = kindOfValues(p.Values)
		c.Native = c.Kind == Text
		switch c.Kind {
		case Number:
			c.setNumberForm()
		case Date:
			c.setDateForm()
		case Text:
			c.Separator = listSeparator(p.Values)
		}
	}
	switch c.Kind {
	case Number:
		c.Unit = columnUnit(c.Words, p.Description)
	case Clock:
		c.Unit = "second"
	}
	c.Missing = c.Filled > 0 && c.Filled < rows
	c.Unique = !c.List && c.Filled > 0 && c.Distinct == c.Filled && c.Filled >= rows
	return c
}

// Stems are the stems of the words of the table's name.
func (t *Table) Stems() []string { return t.stems }

// Stems are the stems of the words of the column's name.
func (c *Column) Stems() []string { return c.stems }

// NamesRows reports whether a column has the names of its table's rows: a text that is called
// as one of them is, such as team of teams.
func (c *Catalog) NamesRows(column int) bool {
	x := &c.Columns[column]
	return x.Kind == Text && slices.Equal(x.stems, c.Tables[x.Table].stems)
}

// NamesRepeat reports whether a column has names of its table's rows, such as name or customer
// name of customers, several rows have the same, and a key tells these apart.
func (c *Catalog) NamesRepeat(column int) bool {
	x := &c.Columns[column]
	t := &c.Tables[x.Table]
	other := func(stem string) bool { return stem != "name" && stem != "full" && !slices.Contains(t.stems, stem) }
	return x.Kind == Text && x.Distinct < x.Filled && t.Key >= 0 && t.Key != column && !slices.ContainsFunc(x.stems, other)
}

// Index returns the index of the values.
func (c *Catalog) Index() *Index { return c.index }

// NameStems returns the stems of the words in all names of tables and columns.
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

// ValueLimit returns the limit of distinct values per column for a profile with this many
// columns.
func ValueLimit(columns int) int {
	return max(minValues, min(maxValues, tableValues/max(columns, 1)))
}

// TruncateValue shortens a value to MaxValueLength.
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

// WithoutColumn returns the catalog without one column. No link may use the column.
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
		less.Links = append(less.Links, *l.renumber(number))
	}
	return less
}

// WithNames returns the catalog with other words in the names of some tables and columns.
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

// WithDescription returns the catalog with other words in the name of a column. The old
// words become words of its description.
func (c *Catalog) WithDescription(column int, words, more []string) *Catalog {
	other := c.WithNames(nil, map[int][]string{column: words})
	other.Columns[column].Hints = append(Stems(c.Columns[column].Words), Stems(more)...)
	return other
}
