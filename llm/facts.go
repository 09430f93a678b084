package llm

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/sqltext"
)

// Facts describe the values of some datasets.
type Facts struct {
	// Datasets are in the order of the request.
	Datasets []DatasetFacts
	// Links are those that the values suggest.
	Links []Link
}

// DatasetFacts describe the values of one dataset.
type DatasetFacts struct {
	// Seen is how many rows, from the first on, were read.
	Seen int64
	// Columns has facts by name, where there are any.
	Columns map[string]ColumnFacts
}

// ColumnFacts describe the values of one column.
type ColumnFacts struct {
	// Kind is what texts represent: numbers, dates or times; "" for the column's type.
	// Unit is the unit of all numbers.
	Kind, Unit string
	// Missing counts the cells without a value.
	Missing int64
	// Values has all values when All is set, else a few.
	Values []string
	All    bool
	// Least and Most are the range of numbers, dates and times, instead of Values.
	Least, Most string
}

// Link says that rows of two datasets belong together where their columns have equal values.
type Link struct {
	// From has Columns, and To has ToColumns, one for each of them.
	From      string
	Columns   []string
	To        string
	ToColumns []string
	// Label says what the link means; "" for nothing.
	Label string
	// Declared says that a user has declared the link; otherwise it was found in the data.
	Declared bool
	// ManyFrom and ManyTo say that several rows of From or of To can have the same values.
	ManyFrom, ManyTo bool
	// Orphans counts the rows of From without one of To.
	Orphans int64
}

// columnFacts writes the facts of a column, in parentheses; "" for none.
func columnFacts(c Column, f ColumnFacts) string {
	var facts []string
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	switch {
	case f.Unit != "":
		add("%s written as text, in %s", f.Kind, sqltext.Text(cellText(f.Unit)))
	case f.Kind != "":
		add("%s written as text", f.Kind)
	}
	if f.Missing > 0 {
		add("%d missing", f.Missing)
	}
	switch {
	case f.Least != "":
		add("%s to %s", cellText(f.Least), cellText(f.Most))
	case len(f.Values) > 0:
		quoted := make([]string, len(f.Values))
		for i, v := range f.Values {
			if quoted[i] = cellText(v); strings.HasPrefix(c.Type, "VARCHAR") {
				quoted[i] = sqltext.Text(quoted[i])
			}
		}
		label := "such as "
		if f.All {
			label = "all values: "
		}
		add("%s%s", label, strings.Join(quoted, ", "))
	}
	if len(facts) == 0 {
		return ""
	}
	return " (" + strings.Join(facts, "; ") + ")"
}

// maxCellText limits a value in the facts of a column, in bytes.
const maxCellText = 80

func cellText(value string) string { return shorten(oneLine(value), maxCellText) }

// referencesText lists the links between the described datasets, and others that values suggest
// for columns without one.
func referencesText(links, suggested []Link, described map[string]bool) string {
	var out strings.Builder
	linked := map[string]bool{}
	for i, l := range slices.Concat(links, suggested) {
		from, to := linkColumns(l.From, l.Columns), linkColumns(l.To, l.ToColumns)
		if !described[l.From] || !described[l.To] || out.Len() >= maxReferences || i >= len(links) && linked[from] {
			continue
		}
		out.WriteString("  " + linkText(l) + "\n")
		if i < len(links) && len(l.Columns) == 1 {
			linked[from], linked[to] = true, linked[to] || l.ManyTo
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "references between these datasets:\n" + out.String()
}

// linkText describes a link, from the side of which many rows may belong to one of the other.
func linkText(l Link) string {
	from, to := linkColumns(l.From, l.Columns), linkColumns(l.To, l.ToColumns)
	text := from + " refers to " + to
	switch {
	case l.ManyTo && l.ManyFrom:
		text = from + " has the values of " + to + ", each in several rows of both: join no sums or counts by it"
	case l.ManyTo:
		text = to + " refers to " + from
	}
	if l.Orphans > 0 && !l.ManyTo {
		text += fmt.Sprintf("; for %d rows there is none", l.Orphans)
	}
	if l.Declared {
		text += "; declared by the user"
	}
	if l.Label != "" {
		text += ": " + shorten(oneLine(l.Label), maxLinkLabel)
	}
	return text
}

// maxLinkLabel limits the label of a link, in bytes.
const maxLinkLabel = 200

func linkColumns(dataset string, columns []string) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = sqltext.Name(dataset) + "." + sqltext.Name(c)
	}
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ", ") + ")"
}
