package domain

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of the links of a dataset.
const (
	MaxLinks       = 100
	MaxLinkColumns = 8
	maxLinkLabel   = 200
)

// Link says that rows of two datasets of a namespace belong together where their columns
// have equal values, as a foreign key does.
type Link struct {
	// From has Columns, and To has ToColumns, one for each of them. Names are compared
	// without regard to case.
	From      string
	Columns   []string
	To        string
	ToColumns []string
	// Label says what the link means, "" for nothing.
	Label string
}

// Cardinality says how many rows of the two datasets of a link can belong together.
type Cardinality string

// The cardinalities, From's side first.
const (
	OneToOne   Cardinality = "one-to-one"
	ManyToOne  Cardinality = "many-to-one"
	OneToMany  Cardinality = "one-to-many"
	ManyToMany Cardinality = "many-to-many"
)

// CardinalityOf returns the cardinality of a link whose values are repeated in From, or in To.
func CardinalityOf(manyFrom, manyTo bool) Cardinality {
	switch {
	case manyFrom && manyTo:
		return ManyToMany
	case manyFrom:
		return ManyToOne
	case manyTo:
		return OneToMany
	}
	return OneToOne
}

// LinkMeasure is the measurement of a link in two versions of its datasets. Rows with a
// missing value in a column of the link do not count.
type LinkMeasure struct {
	Cardinality Cardinality
	// Rows counts the rows of From, Orphans those of them that no row of To belongs to.
	Rows, Orphans int64
	// Values and OrphanValues count different values instead of rows.
	Values, OrphanValues int64
}

// MeasuredLink is a link with its measure, nil when that is not known.
type MeasuredLink struct {
	Link
	// Declared says that a user has declared the link; otherwise it is a suggestion.
	Declared bool
	Measure  *LinkMeasure
	// Problem says why a declared link cannot be used; "" when it can.
	Problem string
}

// CheckLinks returns what is wrong with the links of a dataset as they are declared,
// besides the names of datasets and columns.
func CheckLinks(links []Link) []FieldError {
	if len(links) > MaxLinks {
		return []FieldError{{"links", fmt.Sprintf("must have at most %d entries", MaxLinks)}}
	}
	var wrong []FieldError
	for i, l := range links {
		add := func(field, problem string) {
			if problem != "" {
				wrong = append(wrong, FieldError{fmt.Sprintf("links[%d].%s", i, field), problem})
			}
		}
		add("columns", checkLinkColumns(l.Columns))
		add("dataset", CheckName(l.To))
		add("toColumns", checkLinkColumns(l.ToColumns))
		if len(l.Columns) != len(l.ToColumns) {
			add("toColumns", "must have as many entries as columns")
		}
		add("label", CheckText(l.Label, maxLinkLabel))
		if slices.ContainsFunc(links[:i], l.Equal) {
			add("columns", "must not link the same columns twice")
		}
	}
	return wrong
}

func checkLinkColumns(names []string) string {
	if len(names) == 0 || len(names) > MaxLinkColumns {
		return fmt.Sprintf("must have 1 to %d entries", MaxLinkColumns)
	}
	for i, name := range names {
		if problem := CheckColumnName(name); problem != "" {
			return fmt.Sprintf("has an entry that %s", problem)
		}
		if slices.ContainsFunc(names[:i], func(other string) bool { return strings.EqualFold(other, name) }) {
			return "must not have a column twice"
		}
	}
	return ""
}

// Equal reports whether two links join the same columns, whatever their labels.
func (l Link) Equal(other Link) bool {
	return strings.EqualFold(l.From, other.From) && strings.EqualFold(l.To, other.To) &&
		slices.EqualFunc(l.Columns, other.Columns, strings.EqualFold) && slices.EqualFunc(l.ToColumns, other.ToColumns, strings.EqualFold)
}

// FindColumns returns columns by their names, or else a name that is none.
func FindColumns(columns []Column, names []string) (found []Column, missing string) {
	for _, name := range names {
		at := slices.IndexFunc(columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
		if at < 0 {
			return nil, name
		}
		found = append(found, columns[at])
	}
	return found, ""
}

// MinContained is the least share of values, and of rows, that a suggested link must find.
const MinContained = 0.8

// Contained reports whether at least a share of the values, and of the rows, has rows of To.
func (m LinkMeasure) Contained(share float64) bool {
	return m.Rows > 0 && float64(m.Orphans) <= (1-share)*float64(m.Rows) && float64(m.OrphanValues) <= (1-share)*float64(m.Values)
}

// MaySuggest reports whether a link may be suggested: its values are unique in To, and few of
// them are missing there.
func (m LinkMeasure) MaySuggest() bool {
	return (m.Cardinality == OneToOne || m.Cardinality == ManyToOne) && m.Contained(MinContained)
}
