package dialog

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/unitname"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

var (
	// overviewWords ask for an overview of the data; the others of [AsksOverview] are overviewFiller.
	overviewWords  = catalog.WordSet("overview summary summarize summarise help ask")
	dataWords      = catalog.WordSet("data dataset datasets table tables")
	overviewFiller = catalog.WordSet(`what which give me us an a the of all my our your you i we can could do does is are there have has got please show tell about to for in here
		available question questions kind kinds sort sorts how this these contain contains know need short quick`)
)

// AsksOverview reports whether a text asks what data there is or what can be asked: "give me an
// overview of the data", "what can I ask?". known are words of names, which mean the data.
func AsksOverview(tokens []link.Token, known func(stem string) bool) bool {
	words, found := wordsOf(tokens), false
	for _, t := range words {
		switch {
		case known(t.Stem):
			return false
		case overviewWords[t.Lower], dataWords[t.Lower] && (words[0].Lower == "what" || words[0].Lower == "which"):
			found = true
		case !overviewFiller[t.Lower] && !dataWords[t.Lower]:
			return false
		}
	}
	return found
}

// overviewColumns are the columns of an overview.
var overviewColumns = []string{"dataset", "rows", "from", "to", "figure", "value", "unit"}

// OverviewSQL prints a query for an overview of datasets: the rows of each, its period and its
// main figure. others are those of passages and those without rows. units are those of its numbers by
// column.
func OverviewSQL(cat *catalog.Catalog, others []llm.Dataset, units func(t int, column string) string) string {
	s := suggester{cat: cat}
	var selects []string
	add := func(from string, values ...string) {
		for i, name := range overviewColumns {
			values[i] += " AS " + ir.Ident(name)
		}
		selects = append(selects, "SELECT "+strings.Join(values, ", ")+from)
	}
	for t := range cat.Tables {
		table := &cat.Tables[t]
		from, to, figure, value, unit := "CAST(NULL AS DATE)", "CAST(NULL AS DATE)", "NULL", "CAST(NULL AS DOUBLE)", "NULL"
		if date := s.column(table, s.hasPeriod); date >= 0 {
			name := ir.Ident(cat.Columns[date].Name)
			from, to = "CAST(min("+name+") AS DATE)", "CAST(max("+name+") AS DATE)"
		}
		if number := s.measure(table); number >= 0 && cat.Columns[number].Native {
			c := &cat.Columns[number]
			word, function := s.aggregate(number)
			rest, _ := unitname.Cut(c.Name)
			figure, value = ir.Literal(word+" "+catalog.DisplayName(rest)), "round(CAST("+function+"("+ir.Ident(c.Name)+") AS DOUBLE), 2)"
			if u := units(t, strings.ToLower(c.Name)); u != "" {
				unit = ir.Literal(u)
			}
		}
		add(" FROM "+ir.TableSource(cat, t), ir.Literal(table.Name), "count(*)", from, to, figure, value, unit)
	}
	for _, d := range others {
		from, rows := " FROM "+ir.Ident(d.Name), "count(*)"
		if d.Rows == 0 {
			from, rows = "", "0" // it may have no columns
		}
		add(from, ir.Literal(d.Name), rows, "NULL", "NULL", "NULL", "NULL", "NULL")
	}
	return strings.Join(selects, " UNION ALL ")
}

// isOverview reports whether a result is that of [OverviewSQL].
func isOverview(columns []string) bool { return slices.Equal(columns, overviewColumns) }

// overview says what datasets there are, in a list.
func (r answerResult) overview() string {
	text := fmt.Sprintf("There are %s datasets:\n", r.format.Int(int64(r.rows)))
	if r.rows == 1 {
		text = "There is one dataset:\n"
	}
	for i := range r.rows {
		cell := func(column int) string { return r.columns[column].label(i) }
		text += "\n- **" + escapeCell(catalog.DisplayName(jsonText(r.columns[0].values[i]))) + "**: " + counted(r.format, int(r.columns[1].numbers[i]), "row")
		if r.columns[2].text(i) != "" {
			text += ", from " + cell(2) + " to " + cell(3)
		}
		if value := r.columns[5].values[i]; r.columns[5].text(i) != "" {
			text += ", " + cell(4) + " " + formatNumber(r.format, value, jsonText(r.columns[6].values[i]), 0)
		}
	}
	return text + "\n\n"
}
