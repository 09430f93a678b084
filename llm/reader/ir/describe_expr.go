package ir

import (
	"slices"
	"strings"

	"parley/llm/reader/catalog"
)

func (s *describer) table(t int) string { return catalog.DisplayName(s.cat.Tables[t].Name) }

// column describes a column, with its table if others have a column of the same name.
func (s *describer) column(c int) string {
	column := &s.cat.Columns[c]
	name := catalog.DisplayName(column.Name)
	if column.Table == s.main {
		return name
	}
	for i := range s.cat.Columns {
		if i != c && strings.EqualFold(s.cat.Columns[i].Name, column.Name) {
			return name + " of " + s.table(column.Table)
		}
	}
	return name
}

// bare describes a column without its table.
func (s *describer) bare(c int) string { return catalog.DisplayName(s.cat.Columns[c].Name) }

// onlyDate reports whether a column is the only one with dates in the main table. Its name
// is then left out.
func (s *describer) onlyDate(c int) bool {
	if s.cat.Columns[c].Table != s.main || s.cat.Columns[c].Kind != catalog.Date {
		return false
	}
	for _, other := range s.cat.Tables[s.main].Columns {
		if other != c && s.cat.Columns[other].Kind == catalog.Date {
			return false
		}
	}
	return true
}

// left describes an expression by which rows are grouped, sorted or selected.
func (s *describer) left(e Expr) string {
	if isAggregate(e) || isScalar(e) {
		return s.of(s.expr(e))
	}
	switch {
	case e.Kind == "*":
		return "all columns"
	case e.Kind == "rowid":
		return "row number"
	case e.Kind == "part" && s.onlyDate(e.Column):
		return partWords[e.Func]
	}
	return s.value(e, s.column)
}

// partWords describe parts of a date.
var partWords = map[string]string{
	"year": "year", "quarter": "quarter", "month": "month", "week": "week", "day": "day",
	"monthof": "calendar month", "weekday": "weekday", "hour": "hour of the day", "decade": "decade",
}

var arithWords = map[string]string{"plus": " plus ", "less": " minus ", "times": " times ", "over": " divided by ",
	"of": " as a percentage of ", "gap": " and "}

// value describes the value of an expression for one row.
func (s *describer) value(e Expr, column func(int) string) string {
	kind := e.Kind
	if e.Inner != "" {
		kind = e.Inner
	}
	switch kind {
	case "days":
		return e.durationUnit(s.cat) + "s from " + column(e.Column) + " to " + column(e.Other)
	case "age":
		return "years since " + column(e.Column)
	case "part":
		if strings.EqualFold(s.bare(e.Column), partWords[e.Func]) {
			return column(e.Column)
		}
		return partWords[e.Func] + " of " + column(e.Column)
	}
	text := column(e.Column)
	for i, o := range e.operands() {
		if i > 0 && (o.Op == "times" || o.Op == "over" || o.Op == "of") {
			text = "(" + text + ")"
		}
		if o.Op == "gap" {
			text = "difference between " + text
		}
		text += arithWords[o.Op] + column(o.Column)
	}
	return text
}

// measure describes the value of an expression with its table, or with both of two.
func (s *describer) measure(e Expr) phrase {
	table := s.cat.Columns[e.Column].Table
	if !slices.ContainsFunc(append([]Operand{{Column: e.Other}}, e.Then...), func(o Operand) bool { return o.Column >= 0 && s.cat.Columns[o.Column].Table != table }) {
		return phrase{s.value(e, s.bare), table}
	}
	return phrase{s.value(e, func(c int) string { return s.of(phrase{s.bare(c), s.cat.Columns[c].Table}) }), -1}
}

// expr describes an item of a query.
func (s *describer) expr(e Expr) phrase {
	switch e.Kind {
	case "*":
		return phrase{"all columns", s.main}
	case "rowid":
		return phrase{"row number", s.main}
	case "agg", "query":
		if e.Outer == "" {
			return s.figure(e)
		}
		if e.Outer == "-" && e.Second.Outer == "" && s.isDate(e) && s.isDate(*e.Second) {
			return phrase{"days from " + s.of(s.figure(*e.Second)) + " to " + s.of(s.figure(e)), -1}
		}
		signs := map[string]string{"+": " plus ", "-": " minus ", "/": " divided by ", "%": " as a percentage of "}
		text := s.of(s.figure(e))
		for at, n := e, 0; at.Outer != ""; at, n = *at.Second, n+1 {
			if n > 0 && (at.Outer == "/" || at.Outer == "%") {
				text = "(" + text + ")"
			}
			text += signs[at.Outer] + s.of(s.figure(*at.Second))
		}
		return phrase{text, -1}
	case "pct":
		return phrase{"percentage of " + s.rows() + " " + s.terms(terms(e.Conds)), -1}
	case "pctof":
		return phrase{"percentage of " + s.of(s.agg(e)) + " that comes from those " + s.terms(terms(e.Conds)), -1}
	case "share":
		return phrase{s.of(s.agg(e)) + " as a percentage of all", -1}
	case "ratio":
		return phrase{s.of(s.agg(e)) + " " + s.terms(terms(e.Conds)) + " divided by that " + s.terms(terms(e.Versus)), -1}
	case "diff":
		if s.isDate(e) {
			return phrase{"days from " + s.of(s.agg(e)) + " " + s.terms(terms(e.Versus)) + " to that " + s.terms(terms(e.Conds)), -1}
		}
		return phrase{s.of(s.agg(e)) + " " + s.terms(terms(e.Conds)) + " minus that " + s.terms(terms(e.Versus)), -1}
	case "growth":
		return phrase{"change in percent of " + s.of(s.agg(e)) + " from those " + s.terms(terms(e.Conds)) + " to those " + s.terms(terms(e.Versus)), -1}
	}
	return s.measure(e)
}

// rows describes the rows of a query.
func (s *describer) rows() string {
	if s.main < 0 {
		return "rows"
	}
	return s.table(s.main)
}

// isDate reports whether an aggregate is a date.
func (s *describer) isDate(e Expr) bool {
	return e.Sub == nil && e.Column >= 0 && s.kind(Expr{Kind: "agg", Func: e.Func, Column: e.Column, Op: e.Op, Inner: e.Inner}) == catalog.Date
}

// figure describes an aggregate under its conditions, or a query.
func (s *describer) figure(e Expr) phrase {
	switch {
	case e.Kind == "query":
		return phrase{s.sub(e.Sub), -1}
	case len(e.Conds) > 0:
		return phrase{s.of(s.agg(e)) + " " + s.terms(terms(e.Conds)), -1}
	}
	return s.agg(e)
}

// agg describes an aggregate.
func (s *describer) agg(e Expr) phrase {
	if e.Star {
		return phrase{"number of " + s.rows(), -1}
	}
	if e.Sub != nil {
		words := map[string]string{"count": "number of results of", "sum": "total of", "avg": "average of", "median": "median of", "min": "lowest of", "max": "highest of"}
		return phrase{words[e.Func] + " (" + Describe(e.Sub, s.cat, s.numbers) + ")", -1}
	}
	table := s.cat.Columns[e.Column].Table
	what := s.measure(Expr{Column: e.Column, Other: e.Other, Op: e.Op, Then: e.Then, Inner: e.Inner, Unit: e.Unit})
	switch {
	case e.Func == "count" && e.Distinct:
		what.text = "number of different " + catalog.Plural(what.text)
	case e.Func == "count" && s.cat.Tables[table].Key == e.Column:
		return phrase{"number of " + s.table(table), -1}
	case e.Func == "count":
		return phrase{"number of " + s.table(table) + " with a known " + what.text, -1}
	case e.Func == "sum":
		what.text = "total " + what.text
	case e.Func == "avg":
		what.text = "average " + what.text
	case e.Func == "median":
		what.text = "median " + what.text
	default:
		what.text = s.extreme(e) + " " + what.text
	}
	return what
}

// extreme describes the minimum or maximum of a column.
func (s *describer) extreme(e Expr) string {
	words := [2]string{"lowest", "highest"}
	switch s.kind(Expr{Kind: "column", Column: e.Column, Op: e.Op, Inner: e.Inner}) {
	case catalog.Date:
		words = [2]string{"earliest", "latest"}
	case catalog.Text:
		words = [2]string{"alphabetically first", "alphabetically last"}
	}
	if e.Func == "min" {
		return words[0]
	}
	return words[1]
}
