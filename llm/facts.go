package llm

import (
	"context"
	"fmt"
	"strings"

	"parley/internal/sqltext"
)

// Catalog says what datasets hold, beyond the names and types of their columns.
type Catalog interface {
	// Facts gives what some datasets hold, which data reads. Of those that cannot be
	// read before ctx ends there are none.
	Facts(ctx context.Context, data Data, datasets []Dataset) Facts
}

// Facts are what some datasets hold.
type Facts struct {
	// Datasets are in the order in which they were asked for.
	Datasets []DatasetFacts
	// References are the columns that refer to other datasets.
	References []Reference
}

// DatasetFacts are what one dataset holds.
type DatasetFacts struct {
	// Seen is how many rows they are about, from the first on.
	Seen int64
	// Columns are by name; those of which nothing is known are left out.
	Columns map[string]ColumnFacts
}

// ColumnFacts are what one column holds.
type ColumnFacts struct {
	// Kind is what texts are to be read as: numbers, dates or times; "" where the
	// type says it. Unit is the sign that all of the numbers have.
	Kind, Unit string
	// Missing counts the cells without a value.
	Missing int64
	// Values are all where All is set, else a few.
	Values []string
	All    bool
	// Least and Most are the ends of numbers, dates and times, in place of Values.
	Least, Most string
}

// Reference says that the values of one column are those of another, in another dataset.
type Reference struct{ From, To ColumnName }

// ColumnName names a column of a dataset.
type ColumnName struct{ Dataset, Column string }

// columnFacts gives the facts of a column for a model, in parentheses; "" for none.
func columnFacts(c Column, f ColumnFacts) string {
	var facts []string
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	if f.Kind != "" {
		text := f.Kind + " written as text"
		if f.Unit != "" {
			text += ", in " + sqltext.Text(cellText(f.Unit))
		}
		add("%s", text)
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
		how := "such as "
		if f.All {
			how = "all values: "
		}
		add("%s%s", how, strings.Join(quoted, ", "))
	}
	if len(facts) == 0 {
		return ""
	}
	return " (" + strings.Join(facts, "; ") + ")"
}

// maxCellText bounds a value that is shown with its column, in bytes.
const maxCellText = 80

// cellText gives a value on one line, a long one cut.
func cellText(value string) string {
	return shorten(oneLine(value), maxCellText)
}

// referencesText says which columns of the datasets that a model is told about refer to
// others of these.
func referencesText(references []Reference, told map[string]bool) string {
	var out strings.Builder
	for _, r := range references {
		if told[r.From.Dataset] && told[r.To.Dataset] && out.Len() < maxReferences {
			fmt.Fprintf(&out, "  %s refers to %s\n", r.From, r.To)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "references between these datasets:\n" + out.String()
}

// String gives the name as SQL has it.
func (n ColumnName) String() string { return sqltext.Name(n.Dataset) + "." + sqltext.Name(n.Column) }
