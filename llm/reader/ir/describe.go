package ir

import (
	"cmp"
	"slices"
	"strings"

	"parley/internal/locale"
	"parley/internal/unitname"
	"parley/llm/reader/catalog"
)

// Describe describes a query in English: "average amount of orders with channel “web” in 2025 per
// country, the 5 highest".
func Describe(q *Query, cat *catalog.Catalog, numbers locale.Numbers) string {
	s := &describer{cat: cat, main: -1, numbers: numbers}
	s.main = s.mainTable(q)
	return s.query(q)
}

// describer describes one query; each subquery has its own describer.
type describer struct {
	cat *catalog.Catalog
	// main is the table that "those" refers to; -1 for none.
	main    int
	numbers locale.Numbers
}

// phrase is a text with the table that it belongs to; -1 for none.
type phrase struct {
	text  string
	table int
}

// mainTable returns the table of a query's first aggregate, or else of its first column.
func (s *describer) mainTable(q *Query) int {
	first := func(e Expr) int {
		table := -1
		visitColumns(e, func(c int) {
			if c >= 0 && table < 0 {
				table = s.cat.Columns[c].Table
			}
		})
		return table
	}
	var tables []int
	for _, e := range q.Items {
		if isAggregate(e) && (e.Star || e.Kind == "pct") {
			tables = append(tables, q.From...)
		}
		if isAggregate(e) {
			tables = append(tables, first(e))
		}
	}
	for _, e := range q.Items {
		tables = append(tables, first(e))
	}
	tables = append(tables, q.From...)
	for _, c := range q.Where {
		tables = append(tables, first(c.Left))
	}
	for _, t := range tables {
		if t >= 0 {
			return t
		}
	}
	return -1
}

func (s *describer) query(q *Query) string {
	shown, groups := s.shown(q)
	conditions, apart := s.where(q.Where)
	after := func(text, more string) string { return strings.TrimSuffix(text+" "+more, " ") }
	switch {
	case conditions != "" && (slices.ContainsFunc(q.Items, isCombined) || s.ofSeveral(q.Items) || strings.Contains(conditions, ", or ")):
		// They would seem to be those of the last item, or the groups those of the last condition.
		shown = after(shown, groups) + ", only those " + conditions
	default:
		shown = after(after(shown, conditions), groups)
	}
	parts := []string{shown}
	for _, text := range []string{s.linked(q), apart, s.having(q), s.order(q)} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	text := strings.Join(parts, ", ")
	if q.Set == "" {
		return text
	}
	how := map[string]string{"union": "together with", "intersect": "but only what is also among", "except": "but without"}
	return text + "; " + how[q.Set] + ": " + Describe(q.Right, s.cat, s.numbers)
}

// isCombined reports whether an item has figures under conditions of their own, so that those of
// the query do not belong to the last one.
func isCombined(e Expr) bool {
	return e.Outer != "" || len(e.Conds) > 0 || e.Sub != nil
}

// ofSeveral reports whether items are of several tables, of which the figures count if there are any.
func (s *describer) ofSeveral(items []Expr) bool {
	table, figures := -1, slices.ContainsFunc(items, isAggregate)
	return slices.ContainsFunc(items, func(e Expr) (several bool) {
		if figures && !isAggregate(e) {
			return false
		}
		visitColumns(e, func(c int) {
			if c >= 0 {
				several = several || table >= 0 && s.cat.Columns[c].Table != table
				table = s.cat.Columns[c].Table
			}
		})
		return several
	})
}

// shown describes the items of a query, and its groups.
func (s *describer) shown(q *Query) (shown, groups string) {
	var all, figures []phrase
	for _, e := range q.Items {
		all = append(all, s.expr(e))
		if isAggregate(e) || isScalar(e) || e.Kind == "*" || e.Kind == "rowid" {
			figures = append(figures, s.expr(e))
		}
	}
	keys := s.keys(q)
	if slices.ContainsFunc(q.Items, isAggregate) {
		if len(keys) > 0 {
			groups = "per " + list(keys)
		}
		return list(s.named(figures)), groups
	}
	switch isDifferent := q.Distinct || len(keys) > 0; {
	case isDifferent && len(all) == 1 && q.Items[0].Kind == "column" && q.Items[0].Op == "":
		shown = "different " + s.of(phrase{catalog.Plural(all[0].text), all[0].table})
	case isDifferent && len(all) == 1:
		shown = "different values of " + s.of(all[0])
	case isDifferent:
		shown = "different combinations of " + list(s.named(all))
	default:
		shown = list(s.named(all))
	}
	var unseen []string
	for _, e := range q.Group {
		if !slices.ContainsFunc(q.Items, func(i Expr) bool { return sameExpr(i, e) }) {
			unseen = append(unseen, s.left(e))
		}
	}
	if len(unseen) > 0 {
		groups = "for each " + list(unseen)
	}
	return shown, groups
}

// keys describes the groups of a query: see groupKeys.
func (s *describer) keys(q *Query) []string {
	if len(q.Group) == 0 && !hasAggregates(q) {
		return nil
	}
	var keys []string
	add := func(e Expr) {
		if text := s.left(e); !isAggregate(e) && !isScalar(e) && e.Kind != "*" && e.Kind != "rowid" && !slices.Contains(keys, text) {
			keys = append(keys, text)
		}
	}
	for _, e := range q.Group {
		add(e)
	}
	for _, e := range q.Items {
		add(e)
	}
	return keys
}

func sameExpr(a, b Expr) bool {
	return a.Kind == b.Kind && a.Func == b.Func && a.Column == b.Column && a.Other == b.Other && a.Op == b.Op && slices.Equal(a.Then, b.Then)
}

// named adds the tables to phrases, once for several in a row with the same table.
func (s *describer) named(all []phrase) []string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.text
		if p.table >= 0 && (i+1 == len(all) || all[i+1].table != p.table) {
			texts[i] = s.of(p)
		}
	}
	return texts
}

// of returns a phrase with its table.
func (s *describer) of(p phrase) string {
	if p.table < 0 {
		return p.text
	}
	return p.text + " of " + s.table(p.table)
}

// linked describes the tables that a query joins without a column of them, and the join
// column.
func (s *describer) linked(q *Query) string {
	var tables []string
	named := map[int]bool{s.main: true}
	visitShown(q, func(c int) {
		if c >= 0 {
			named[s.cat.Columns[c].Table] = true
		}
	})
	for _, t := range q.From {
		if !named[t] {
			named[t] = true
			tables = append(tables, s.table(t))
		}
	}
	var text string
	if len(tables) > 0 {
		text = "linked to " + list(tables)
	}
	switch {
	case q.Via < 0:
		return text
	case text == "":
		return "linked by " + s.column(q.Via)
	}
	return text + " by " + s.column(q.Via)
}

// having describes the conditions on groups.
func (s *describer) having(q *Query) string {
	if len(q.Having) == 0 {
		return ""
	}
	all := make([]term, len(q.Having))
	for i, c := range q.Having {
		all[i] = term{conds: []Cond{c}, or: c.Or}
	}
	text, keys := s.terms(all), s.keys(q)
	switch len(keys) {
	case 0:
		return "only if there are those " + text
	case 1:
		if len(q.Items) == 1 && !isAggregate(q.Items[0]) {
			return "those " + text
		}
		return "only " + catalog.Plural(keys[0]) + " " + text
	}
	return "only combinations of " + list(keys) + " " + text
}

// order describes the order of rows, and how many of them are shown.
func (s *describer) order(q *Query) string {
	var figures []Expr
	for _, e := range q.Items {
		if isAggregate(e) {
			figures = append(figures, e)
		}
	}
	isFigure := func(e Expr) bool {
		return len(q.Order) == 1 && len(figures) == 1 && isAggregate(e) && s.of(s.expr(e)) == s.of(s.expr(figures[0]))
	}
	if q.Limit > 0 && q.Nth <= 1 && len(q.Order) == 1 {
		if text := s.superlative(q.Order[0]); text != "" {
			switch few := q.Limit > 1; {
			case isFigure(q.Order[0].By) && few:
				text = "the " + s.numbers.Int(int64(q.Limit)) + " " + text
			case isFigure(q.Order[0].By):
				text = "only the " + text
			case few:
				text = "the " + s.numbers.Int(int64(q.Limit)) + " with the " + text + " " + s.left(q.Order[0].By)
			default:
				text = "only the one with the " + text + " " + s.left(q.Order[0].By)
			}
			return text + s.each(q)
		}
	}
	var keys []string
	for _, o := range q.Order {
		switch direction := s.direction(o); {
		case o.By.Kind == "rowid", isFigure(o.By):
			keys = append(keys, direction)
		default:
			keys = append(keys, "by "+s.left(o.By)+", "+direction)
		}
	}
	text := strings.Join(keys, ", then ")
	if limit := s.limit(q); limit != "" && text != "" {
		return text + ", " + limit
	} else if limit != "" {
		return limit
	}
	return text
}

// superlative describes the first rows of an order; "" for texts and rows by their number.
func (s *describer) superlative(o Sort) string {
	word, found := strings.CutSuffix(s.direction(o), " first")
	if !found {
		return ""
	}
	return word
}

// direction describes the direction of an order.
func (s *describer) direction(o Sort) string {
	words := [2]string{"lowest first", "highest first"}
	switch kind := s.kind(o.By); {
	case o.By.Kind == "rowid":
		words = [2]string{"as in the table", "from the end of the table"}
	case o.By.Kind == "part" && kind == catalog.Text:
		words = [2]string{"as in the calendar", "from the end of the calendar"}
	case kind == catalog.Date:
		words = [2]string{"earliest first", "latest first"}
	case kind == catalog.Text:
		words = [2]string{"A to Z", "Z to A"}
	}
	if o.Desc {
		return words[1]
	}
	return words[0]
}

// kind returns the kind of an expression.
func (s *describer) kind(e Expr) catalog.Kind {
	switch {
	case e.Kind == "part" && e.Func != "year" && e.Func != "decade" && e.Func != "hour" && e.Func != "monthof" && e.Func != "weekday":
		return catalog.Date
	case e.Kind == "part" && (e.Func == "monthof" || e.Func == "weekday"):
		return catalog.Text
	case e.Kind == "part" || e.Inner != "" || e.Op != "" || e.Outer != "" || e.Column < 0:
		return catalog.Number
	case e.Kind == "column" || e.Kind == "agg" && (e.Func == "min" || e.Func == "max"):
		return s.cat.Columns[e.Column].Kind
	}
	return catalog.Number
}

// list joins texts with commas and an "and".
func list(texts []string) string { return joinList(texts, "and") }

func joinList(texts []string, last string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " " + last + " " + texts[len(texts)-1]
}

func (s *describer) table(t int) string { return cmp.Or(s.cat.Noun(t), "rows") }

// column describes a column, with its table if others have a column of the same name.
func (s *describer) column(c int) string {
	column := &s.cat.Columns[c]
	name := displayColumn(column.Name)
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
func (s *describer) bare(c int) string { return displayColumn(s.cat.Columns[c].Name) }

// displayColumn returns the name of a column for people, without its unit.
func displayColumn(name string) string {
	rest, _ := unitname.Cut(name)
	return catalog.DisplayName(rest)
}

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
