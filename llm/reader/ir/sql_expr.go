package ir

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
)

// expr prints an expression. With measured, columns of texts that are numbers or dates are
// converted.
func (p *printer) expr(e Expr, measured bool) string {
	switch e.Kind {
	case "*":
		return "*"
	case "rowid":
		p.numberRows(p.joins.tables[0])
		return p.rowNumber()
	case "column":
		if e.Op != "" || measured {
			return p.arith(e)
		}
		return p.ref(e.Column)
	case "part":
		return p.part(e)
	case "days", "age":
		return p.duration(e.Kind, e)
	case "agg", "query":
		text := p.term(e)
		if p.betweenDates(e) {
			return "date_diff('day', " + p.term(*e.Second) + ", " + text + ")"
		}
		for at := e; at.Outer != ""; at = *at.Second {
			text = calculate(text, at.Outer, p.term(*at.Second))
		}
		return text
	case "pct":
		return fmt.Sprintf("(100.0 * count(*) FILTER (WHERE %s) / nullif(count(*), 0))", p.filter(e.Conds))
	case "pctof":
		return fmt.Sprintf("(100.0 * %s / nullif(%s, 0))", p.agg(e, p.filter(e.Conds)), p.agg(e, ""))
	case "share":
		return fmt.Sprintf("(100.0 * %s / nullif(sum(%s) OVER (), 0))", p.agg(e, ""), p.agg(e, ""))
	}
	return p.compareSides(e)
}

// calculate prints an operator between two numbers.
func calculate(a, op, b string) string {
	switch op {
	case "over", "/":
		return "(1.0 * " + a + " / nullif(" + b + ", 0))"
	case "of", "%":
		return "(100.0 * " + a + " / nullif(" + b + ", 0))"
	case "gap":
		return "abs(" + a + " - " + b + ")"
	}
	signs := map[string]string{"plus": "+", "less": "-", "times": "*"}
	return "(" + a + " " + cmp.Or(signs[op], op) + " " + b + ")"
}

// term prints an aggregate under its conditions, or a query.
func (p *printer) term(e Expr) string {
	switch {
	case e.Kind == "query":
		return "(" + p.sub(e.Sub, true) + ")"
	case e.Sub != nil && e.Func == "count":
		return "(SELECT count(*) FROM (" + p.sub(e.Sub, false) + ") AS found)"
	case e.Sub != nil:
		return "(SELECT " + e.Func + "(figure) FROM (" + p.sub(e.Sub, true) + ") AS figures (figure))"
	case len(e.Conds) > 0:
		return p.agg(e, p.filter(e.Conds))
	}
	return p.agg(e, "")
}

// filter prints the conditions of FILTER, with alternatives on one column together.
func (p *printer) filter(conds []Cond) string {
	var b strings.Builder
	all := terms(conds)
	for i, t := range all {
		switch {
		case i > 0 && t.or:
			b.WriteString(" OR ")
		case i > 0:
			b.WriteString(" AND ")
		}
		b.WriteString(p.disjunction(t.conds, len(all) > 1))
	}
	return b.String()
}

// compareSides prints the ratio, growth or difference of an aggregate under two conditions.
func (p *printer) compareSides(e Expr) string {
	a, b := p.agg(e, p.filter(e.Conds)), p.agg(e, p.filter(e.Versus))
	switch e.Kind {
	case "ratio":
		return fmt.Sprintf("(1.0 * %s / nullif(%s, 0))", a, b)
	case "growth":
		return fmt.Sprintf("(100.0 * (%s - %s) / nullif(%s, 0))", b, a, a)
	}
	if p.betweenDates(e) {
		return "date_diff('day', " + b + ", " + a + ")"
	}
	return fmt.Sprintf("(%s - %s)", a, b)
}

// sides returns a figure under the two conditions that an expression compares, that of the comparison
// first; nil if there are none. The second has no condition where that is all rows.
func (e Expr) sides() []Expr {
	first := e
	first.Kind, first.Outer, first.Second, first.Versus = "agg", "", nil, nil
	second := first
	second.Conds = e.Versus
	switch e.Kind {
	case "diff", "ratio", "pctof":
		return []Expr{first, second}
	case "growth":
		return []Expr{second, first}
	case "pct":
		first.Func, first.Star, second.Func, second.Star = "count", true, "count", true
		return []Expr{first, second}
	case "agg":
		if e.Outer == "" || e.Outer == "+" || e.Second.Outer != "" || len(e.Conds) == 0 {
			return nil
		}
		if second.Conds = e.Second.Conds; reflect.DeepEqual(second, *e.Second) {
			return []Expr{first, second}
		}
	}
	return nil
}

// betweenDates reports whether an expression is the difference of two dates, in days.
func (p *printer) betweenDates(e Expr) bool {
	if e.Kind == "diff" {
		e.Kind = "agg"
		return p.classOf(e, true) == date
	}
	if e.Kind != "agg" && e.Kind != "query" || e.Outer != "-" || e.Second.Outer != "" {
		return false
	}
	first := e
	first.Outer, first.Second = "", nil
	return p.classOf(first, true) == date && p.classOf(*e.Second, true) == date
}

// agg prints an aggregate over the rows of a filter.
func (p *printer) agg(e Expr, filter string) string {
	var of string
	switch {
	case e.Star && p.counted != "":
		of = "DISTINCT " + p.counted
	case e.Star:
		of = "*"
	case e.Inner != "":
		of = p.duration(e.Inner, e)
	case e.Func == "sum" || e.Func == "avg" || e.Func == "median" || e.Op != "":
		of = p.arith(e)
		if e.Op == "" {
			of = p.numeric(e.Column)
		}
		if k := p.cat.Columns[e.Column].Kind; k != catalog.Number && k != catalog.Clock && k != catalog.Bool {
			return p.fail("%s of a column without numbers", e.Func)
		}
	case e.Func == "count":
		of = p.ref(e.Column)
	default:
		of = p.measure(e.Column)
	}
	if e.Distinct {
		of = "DISTINCT " + of
	}
	text := e.Func + "(" + of + ")"
	if filter != "" {
		text += " FILTER (WHERE " + filter + ")"
	}
	return text
}

// arith prints a column as a number, or two with an operator between them.
func (p *printer) arith(e Expr) string {
	if e.Op == "" {
		return p.measure(e.Column)
	}
	text := p.numeric(e.Column)
	for _, o := range e.operands() {
		text = calculate(text, o.Op, p.numeric(o.Column))
	}
	return text
}

// numeric prints a column for arithmetic.
func (p *printer) numeric(column int) string {
	if p.cat.Columns[column].Kind == catalog.Bool {
		return "CAST(" + p.ref(column) + " AS INTEGER)"
	}
	return p.measure(column)
}

// measure prints a column for comparisons: texts that are numbers, dates or durations are
// converted.
func (p *printer) measure(column int) string {
	c, ref := &p.cat.Columns[column], p.ref(column)
	switch {
	case c.Native && c.Kind == catalog.Clock:
		return "epoch(" + ref + ")"
	case c.Native:
		return ref
	}
	if c.Doubt != catalog.NoDoubt && p.doubted != nil {
		*p.doubted = append(*p.doubted, column)
	}
	switch c.Kind {
	case catalog.Number:
		digits := "replace(" + ref + ", ',', '')"
		if c.DecimalComma {
			digits = "replace(replace(" + ref + ", '.', ''), ',', '.')"
		}
		number := "TRY_CAST(regexp_extract(translate(" + digits + ", '−–', '--'), '-?[0-9]+([.][0-9]+)?') AS DOUBLE)"
		if c.Multiplies {
			return multiplied(number, ref)
		}
		return number
	case catalog.Date:
		return parseDate(ref, c.DayFirst)
	case catalog.Clock:
		return parseClock(ref)
	}
	return ref
}

// multiplied prints a number times what the letters after it mean: 3.4B.
func multiplied(number, ref string) string {
	text := "CASE lower(regexp_extract(" + ref + ", '[0-9]\\s*([a-zA-Z]*)\\s*$', 1))"
	for _, m := range slices.Sorted(maps.Keys(catalog.Multipliers)) {
		text += " WHEN " + Literal(m) + " THEN " + catalog.Multipliers[m]
	}
	return "(" + number + " * " + text + " END)"
}

// dateFormats are the formats of dates in texts.
var dateFormats = []string{"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%B %d %Y", "%A, %B %d, %Y",
	"%A %d %B %Y", "%m/%d/%Y", "%d.%m.%Y", "%B %Y", "%b %Y", "%Y", "%B %d", "%d %B", "%b %d", "%d %b"}

// parseDate prints the conversion of a text to a timestamp.
func parseDate(ref string, dayFirst bool) string {
	formats := make([]string, len(dateFormats))
	for i, f := range dateFormats {
		if f == "%m/%d/%Y" && dayFirst {
			f = "%d/%m/%Y"
		}
		formats[i] = Literal(f)
	}
	clean := "trim(regexp_replace(regexp_replace(" + ref + `, '[\[(].*$', ''), '([0-9])(st|nd|rd|th)', '\1'))`
	return "try_strptime(" + clean + ", [" + strings.Join(formats, ", ") + "])"
}

// parseClock prints the conversion of a text such as 1:07:24 to seconds.
func parseClock(ref string) string {
	parts := "list_reverse(string_split(regexp_extract(" + ref + ", '[0-9:.]+'), ':'))"
	part := func(n int) string {
		return fmt.Sprintf("coalesce(TRY_CAST(list_extract(%s, %d) AS DOUBLE), 0)", parts, n)
	}
	return "CASE WHEN regexp_matches(" + ref + ", '[0-9]') THEN " + part(1) + " + 60 * " + part(2) + " + 3600 * " + part(3) + " END"
}

func (p *printer) isDate(column int) bool { return p.cat.Columns[column].Kind == catalog.Date }

// part prints a part of a date.
func (p *printer) part(e Expr) string {
	c := p.measure(e.Column)
	if e.Func == "decade" && p.cat.Columns[e.Column].IsYear() {
		return "(CAST(" + c + " AS INTEGER) // 10 * 10)"
	}
	if !p.isDate(e.Column) {
		return p.fail("%s of a column without dates", e.Func)
	}
	switch e.Func {
	case "quarter", "month", "week", "day":
		return "CAST(date_trunc('" + e.Func + "', " + c + ") AS DATE)"
	case "monthof":
		return "monthname(" + c + ")"
	case "weekday":
		return "dayname(" + c + ")"
	case "decade":
		return "(year(" + c + ") // 10 * 10)"
	}
	return e.Func + "(" + c + ")"
}

// partNumber prints a part of a date as a number for comparisons.
func (p *printer) partNumber(e Expr) string {
	if e.Func == "decade" {
		return p.part(e)
	}
	c := p.measure(e.Column)
	switch e.Func {
	case "month", "monthof":
		return "month(" + c + ")"
	case "weekday":
		return "isodow(" + c + ")"
	}
	return e.Func + "(" + c + ")"
}

// duration prints the time between two dates, or the years since one.
func (p *printer) duration(kind string, e Expr) string {
	if kind == "age" && p.cat.Columns[e.Column].IsYear() {
		return fmt.Sprintf("(%d - %s)", p.now.Year(), p.measure(e.Column))
	}
	if !p.isDate(e.Column) || kind == "days" && !p.isDate(e.Other) {
		return p.fail("%s of a column without dates", kind)
	}
	if kind == "age" {
		return "date_sub('year', " + p.measure(e.Column) + ", DATE " + Literal(p.now.Format("2006-01-02")) + ")"
	}
	return p.between(e)
}

// lastOuter returns the last operator between aggregates; "" for none.
func (e Expr) lastOuter() string {
	if e.Second != nil && e.Second.Outer != "" {
		return e.Second.lastOuter()
	}
	return e.Outer
}

// label returns the column name of an expression; "" for the default of the database.
func (p *printer) label(e Expr) string {
	column := func() string {
		if e.Column < 0 {
			return ""
		}
		name := strings.ToLower(strings.Join(p.cat.Columns[e.Column].Words, "_"))
		for _, o := range e.operands() {
			name += "_" + o.Op + "_" + strings.ToLower(strings.Join(p.cat.Columns[o.Column].Words, "_"))
		}
		return name
	}
	if e.Inner != "" {
		column = func() string { return e.Inner }
	}
	if e.Inner == "days" {
		column = func() string { return e.durationUnit(p.cat) + "s" }
	}
	names := map[string]string{"sum": "total_", "avg": "average_", "median": "median_", "min": "lowest_", "max": "highest_"}
	switch {
	case e.Kind == "*" || e.Kind == "rowid":
		return ""
	case e.Kind == "part" && e.Func == "monthof":
		return "month"
	case e.Kind == "part":
		return e.Func
	case e.Kind == "pct" || e.Kind == "pctof" || e.Kind == "share" || e.Kind == "growth" || e.lastOuter() == "%":
		return "percent"
	case e.Kind == "ratio" || e.lastOuter() == "/":
		return "ratio"
	case e.Kind == "diff" || e.lastOuter() == "-":
		return "difference"
	case e.Kind == "query":
		return p.label(e.Sub.Items[0])
	case e.Sub != nil && e.Func == "count":
		return "count"
	case e.Sub != nil:
		return names[e.Func] + p.label(e.Sub.Items[0])
	case e.Kind == "agg" && len(e.Conds) > 0 && len(e.Conds[0].Values) > 0:
		of := e
		of.Conds = nil
		return p.label(of) + "_" + strings.Join(catalog.ValueTokens(e.Conds[0].Values[0].Text), "_")
	case e.Kind == "days":
		return e.durationUnit(p.cat) + "s"
	case e.Kind == "age":
		return e.Kind
	case e.Op == "gap" && e.Func == "":
		return "difference"
	case e.Func == "" && len(e.operands()) > 0 && e.operands()[len(e.Then)].Op == "of":
		return "percent"
	case e.Func == "count":
		return "count"
	case e.Kind == "agg":
		return names[e.Func] + column()
	}
	return column()
}

// base returns the table whose rows an aggregate computes over; -1 if repeated rows do not
// change its value.
func (p *printer) base(q *Query, e Expr) int {
	switch {
	case e.Func == "min" || e.Func == "max" || e.Distinct || e.Sub != nil:
		return -1
	case e.Kind == "pct" && len(q.From) > 0:
		return q.From[0]
	case e.Kind == "pct":
		return p.cat.Columns[e.Conds[0].Left.Column].Table
	case e.Column >= 0:
		// A calculation with columns of two tables has a value for each row of the one that
		// refers to the other.
		for _, o := range e.operands() {
			if t := p.cat.Columns[o.Column].Table; !p.joins.multiplies(t) {
				return t
			}
		}
		return p.cat.Columns[e.Column].Table
	case len(q.From) > 0:
		return q.From[0]
	}
	return -1
}

// bases returns the tables of the aggregates whose rows the joins repeat, whether all of those
// count rows, and whether there are aggregates of other tables.
func (p *printer) bases(q *Query) (tables []int, onlyCounts, others bool) {
	onlyCounts = true
	look := func(e Expr) {
		for at := &e; at != nil; at = at.Second {
			if !isAggregate(*at) || at.Sub != nil {
				continue
			}
			t := p.base(q, *at)
			switch {
			case t >= 0 && p.joins.multiplies(t):
				onlyCounts = onlyCounts && at.Kind == "agg" && at.Star
				if !slices.Contains(tables, t) {
					tables = append(tables, t)
				}
			case t >= 0:
				others = true
			}
		}
	}
	for _, e := range q.Items {
		look(e)
	}
	for _, c := range q.Having {
		look(c.Left)
		if c.Right != nil {
			look(*c.Right)
		}
	}
	for _, s := range q.Order {
		look(s.By)
	}
	return tables, onlyCounts, others
}
