package ir

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
)

// term is one condition, or several on one column of which any must hold.
type term struct {
	conds []Cond
	// or says that OR joins it to the term before.
	or bool
	// path is the path from the joined tables to the column's table, if it has a step to
	// many; then the term is a semijoin.
	path []step
}

// terms groups conditions on one column that OR joins: this OR binds tighter than AND, as
// in "in 2024 or 2025 and in Berlin".
func terms(conds []Cond) []term {
	var all []term
	for _, c := range conds {
		if c.Or && len(all) > 0 {
			last := &all[len(all)-1]
			if before := last.conds[len(last.conds)-1]; before.Left.Kind == c.Left.Kind && before.Left.Column == c.Left.Column && c.Left.Column >= 0 {
				last.conds = append(last.conds, c)
				continue
			}
		}
		all = append(all, term{conds: []Cond{c}, or: c.Or})
	}
	return all
}

// where prints the conditions, after joining the tables that they need.
func (p *printer) where(q *Query) string {
	if len(q.Where) == 0 {
		return ""
	}
	all := terms(q.Where)
	for i := range all {
		p.joinOrPath(&all[i])
	}
	if p.err != nil {
		return ""
	}
	var groups []string
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && !all[end].or {
			end++
		}
		groups = append(groups, strings.Join(p.conjunction(all[start:end], len(all) > end || start > 0), " AND "))
		start = end
	}
	return " WHERE " + strings.Join(groups, " OR ")
}

// joinOrPath joins the table of a term if that repeats no rows, and sets the path for a
// semijoin otherwise.
func (p *printer) joinOrPath(t *term) {
	table := -1
	visitColumns(t.conds[0].Left, func(c int) {
		if c >= 0 && table < 0 {
			table = p.cat.Columns[c].Table
		}
	})
	if table < 0 || slices.Contains(p.joins.tables, table) {
		return
	}
	path, err := p.joins.path(p.joins.tables, table)
	if err != nil {
		p.fail("%w", err)
		return
	}
	for len(path) > 0 && !path[0].many {
		p.joins.follow(path[:1])
		path = path[1:]
	}
	t.path = path
}

// conjunction prints terms that must all hold. Those with the same path must hold for the
// same row.
func (p *printer) conjunction(all []term, several bool) []string {
	var parts []string
	done := make([]bool, len(all))
	for i, t := range all {
		if done[i] {
			continue
		}
		if len(t.path) == 0 {
			parts = append(parts, p.disjunction(t.conds, several || len(all) > 1))
			continue
		}
		together := [][]Cond{}
		for j := i; j < len(all); j++ {
			if slices.Equal(all[j].path, t.path) {
				together = append(together, all[j].conds)
				done[j] = true
			}
		}
		parts = append(parts, p.semijoin(t.path, together))
	}
	return parts
}

func (p *printer) disjunction(conds []Cond, several bool) string {
	text := p.conds(conds)
	if several && len(conds) > 1 {
		return "(" + text + ")"
	}
	return text
}

// semijoin prints the condition that a row at the end of a path meets the conditions.
func (p *printer) semijoin(path []step, conds [][]Cond) string {
	inner := &printer{cat: p.cat, now: p.now, doubted: p.doubted, numbered: -1}
	inner.joins = joins{graph: p.joins.graph, tables: []int{path[0].to}}
	inner.joins.follow(path[1:])
	var parts []string
	for _, c := range conds {
		parts = append(parts, inner.disjunction(c, len(conds) > 1))
	}
	var own, others []string
	for _, pair := range path[0].link.Pairs() {
		here, there := pair[1], pair[0]
		if p.cat.Columns[here].Table != path[0].from {
			here, there = there, here
		}
		own, others = append(own, p.linkRef(here, there)), append(others, inner.linkRef(there, here))
	}
	left := strings.Join(own, ", ")
	if len(own) > 1 {
		left = "(" + left + ")"
	}
	text := fmt.Sprintf("%s IN (SELECT %s FROM %s WHERE %s)", left, strings.Join(others, ", "), inner.from(), strings.Join(parts, " AND "))
	if inner.err != nil && p.err == nil {
		p.err = inner.err
	}
	return text
}

// conds prints conditions in order, with AND and OR between them.
func (p *printer) conds(conds []Cond) string {
	var b strings.Builder
	for i, c := range conds {
		switch {
		case i > 0 && c.Or:
			b.WriteString(" OR ")
		case i > 0:
			b.WriteString(" AND ")
		}
		b.WriteString(p.cond(c))
	}
	return b.String()
}

func (p *printer) cond(c Cond) string {
	switch c.Op {
	case "isnull", "notnull":
		return p.missing(c)
	case "valued":
		return p.expr(c.Left, false) + " IS NOT NULL"
	case "in":
		return p.expr(c.Left, false) + " IN (" + p.sub(c.Sub, false) + ")"
	case "notin":
		return p.expr(c.Left, false) + " NOT IN (" + p.sub(withoutNull(c.Sub), false) + ")"
	case "after", "before":
		return p.neighbour(c)
	case "like", "likepre", "likesuf", "notlike":
		return p.contains(c)
	}
	switch {
	case c.Sub != nil:
		return p.expr(c.Left, true) + " " + c.Op + " (" + p.sub(c.Sub, true) + ")"
	case c.Right != nil:
		return p.expr(c.Left, true) + " " + c.Op + " " + p.expr(*c.Right, true)
	case c.Column >= 0:
		return p.expr(c.Left, true) + " " + c.Op + " " + p.measure(c.Column)
	}
	return p.compare(c)
}

// missing prints the test whether a value is absent. So is an empty list, a text that is never a value, or that
// is no number in a column of those.
func (p *printer) missing(c Cond) string {
	test := map[string]string{"isnull": " IS NULL", "notnull": " IS NOT NULL"}[c.Op]
	if c.Left.Kind == "column" && c.Left.Op == "" && p.cat.Columns[c.Left.Column].List {
		return "coalesce(len(" + p.ref(c.Left.Column) + "), 0)" + map[string]string{"isnull": " = 0", "notnull": " > 0"}[c.Op]
	}
	if c.Left.Kind != "column" || c.Left.Op != "" || p.cat.Columns[c.Left.Column].Native && p.cat.Columns[c.Left.Column].Kind != catalog.Text {
		return p.expr(c.Left, false) + test
	}
	column, ref := &p.cat.Columns[c.Left.Column], p.ref(c.Left.Column)
	if column.Kind == catalog.Number {
		return p.measure(c.Left.Column) + test
	}
	var texts []string
	for _, v := range column.Values {
		if catalog.IsAbsent(v) {
			texts = append(texts, Literal(v))
		}
	}
	switch {
	case len(texts) == 0:
		return ref + test
	case c.Op == "isnull":
		return "(" + ref + " IS NULL OR " + ref + " IN (" + strings.Join(texts, ", ") + "))"
	}
	return "(" + ref + " IS NOT NULL AND " + ref + " NOT IN (" + strings.Join(texts, ", ") + "))"
}

// withoutNull adds IS NOT NULL, as the operator "valued", for the only column of a query, so that NOT IN is never
// NULL.
func withoutNull(q *Query) *Query {
	if len(q.Items) != 1 || q.Items[0].Kind != "column" || q.Set != "" || hasAggregates(q) || len(q.Group) > 0 {
		return q
	}
	copied := *q
	copied.Where = append(slices.Clone(q.Where), Cond{Left: q.Items[0], Op: "valued", Column: -1})
	return &copied
}

// neighbour prints the condition that a row is directly after or before one with a value.
func (p *printer) neighbour(c Cond) string {
	table := p.cat.Columns[c.Left.Column].Table
	p.numberRows(table)
	pick, sign := "max", "+"
	if c.Op == "before" {
		pick, sign = "min", "-"
	}
	inner := &printer{cat: p.cat, now: p.now, doubted: p.doubted, numbered: table}
	inner.joins = joins{graph: p.joins.graph, tables: []int{table}}
	match := inner.compare(Cond{Left: c.Left, Op: "=", Values: c.Values, Column: -1})
	if inner.err != nil && p.err == nil {
		p.err = inner.err
	}
	return fmt.Sprintf("%[1]s = (SELECT %[2]s(%[1]s) FROM %[3]s WHERE %[4]s) %[5]s 1", p.rowNumber(), pick, inner.table(table), match, sign)
}

// contains prints a text search.
func (p *printer) contains(c Cond) string {
	if c.Left.Kind != "column" {
		return p.fail("a search in what is no column")
	}
	text := "lower(CAST(" + p.ref(c.Left.Column) + " AS VARCHAR))"
	word := Literal(strings.ToLower(c.Values[0].Text))
	switch c.Op {
	case "likepre":
		return "starts_with(" + text + ", " + word + ")"
	case "likesuf":
		return "ends_with(" + text + ", " + word + ")"
	}
	test := "contains(" + text + ", " + word + ")"
	if p.isMember(c.Left.Column, strings.ToLower(c.Values[0].Text)) {
		test = "regexp_matches(" + text + ", " + Literal(`\b`+regexp.QuoteMeta(strings.ToLower(c.Values[0].Text))) + ")"
	}
	if c.Op == "notlike" {
		return "NOT " + test
	}
	return test
}

// isMember reports whether a text is a member of lists in a column's cells, and the end of a longer
// word in others: the man of "man, child" is not in "woman".
func (p *printer) isMember(column int, word string) bool {
	member, within := false, false
	for _, v := range p.cat.Columns[column].Values {
		v = strings.ToLower(v)
		at := strings.Index(v, word)
		if at < 0 {
			continue
		}
		within = within || at > 0 && v[at-1] >= 'a' && v[at-1] <= 'z'
		members := strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",;|/", r) })
		member = member || len(members) > 1 && slices.ContainsFunc(members, func(m string) bool { return strings.TrimSpace(m) == word })
	}
	return member && within
}

// compare prints a comparison with values, by the kind of the column.
func (p *printer) compare(c Cond) string {
	if c.Left.Kind != "column" || c.Left.Op != "" {
		return p.compareNumber(c)
	}
	column := &p.cat.Columns[c.Left.Column]
	if c.Values[0].Kind == TodayValue {
		if column.Kind != catalog.Date {
			return p.fail("today compared with what is no date")
		}
		today := p.now.Format("2006-01-02")
		c.Values = []Value{{Kind: PeriodValue, From: today, To: p.now.AddDate(0, 0, 1).Format("2006-01-02")}}
	}
	switch {
	case column.Kind == catalog.Other:
		return p.compareList(c)
	case column.Kind == catalog.Date && c.Values[0].From != "":
		return p.compareDate(c)
	case column.Kind == catalog.Date:
		return p.fail("a date compared with what is none")
	case column.IsYear() && c.Values[0].Kind == PeriodValue && spansYears(c.Values[0]):
		return p.compareDate(c)
	case (column.Kind == catalog.Number || column.Kind == catalog.Clock) && c.Values[0].Kind != BoolValue:
		if cells := c.Values[0].Cells[c.Left.Column]; len(cells) > 0 && (c.Op == "=" || c.Op == "!=") && !column.Native {
			return p.compareText(c)
		}
		return p.compareNumber(c)
	case column.Kind == catalog.Bool || c.Values[0].Kind == BoolValue:
		return p.compareBool(c)
	}
	return p.compareText(c)
}

// number prints a value as a number for a comparison with an expression.
func (p *printer) number(left Expr, v Value) string {
	if unit := left.unit(p.cat); !catalog.CanCompare(v.Unit, unit) {
		return p.fail("a number with the unit %s compared with the unit %s", v.Unit, unit)
	}
	text := strings.ReplaceAll(v.Number(left, p.cat), ",", "")
	if _, err := strconv.ParseFloat(text, 64); err != nil || strings.ContainsAny(text, "nNxX_") {
		return p.fail("no number: %q", v.Text)
	}
	return text
}

func (p *printer) compareNumber(c Cond) string {
	if c.Left.Kind != "part" && p.classOf(c.Left, true) != number {
		return p.fail("a number compared with what is none")
	}
	left := p.expr(c.Left, true)
	if c.Left.Kind == "part" {
		left = p.partNumber(c.Left)
	}
	if c.Op == "between" {
		return left + " BETWEEN " + p.number(c.Left, c.Values[0]) + " AND " + p.number(c.Left, c.Values[1])
	}
	return left + " " + c.Op + " " + p.number(c.Left, c.Values[0])
}

// spansYears reports whether a period consists of several whole years: a decade.
func spansYears(v Value) bool {
	return strings.HasSuffix(v.From, "-01-01") && strings.HasSuffix(v.To, "-01-01") && v.From[:4] < v.To[:4] && v.Text != v.From[:4]
}

// compareDate prints a comparison of a date or a year with a period.
func (p *printer) compareDate(c Cond) string {
	left, v := p.measure(c.Left.Column), c.Values[0]
	day := func(date string) string { return "DATE " + Literal(date) }
	if p.cat.Columns[c.Left.Column].IsYear() {
		day = func(date string) string { return date[:4] }
	}
	from, to := day(v.From), day(v.To)
	in := left + " >= " + from + " AND " + left + " < " + to
	switch c.Op {
	case "between":
		if c.Values[1].To == "" {
			return p.fail("no end of a period")
		}
		return "(" + left + " >= " + from + " AND " + left + " < " + day(c.Values[1].To) + ")"
	case "=":
		return "(" + in + ")"
	case "!=":
		return "NOT (" + in + ")"
	case ">":
		return left + " >= " + to
	case ">=":
		return left + " >= " + from
	case "<":
		return left + " < " + from
	}
	return left + " < " + to
}

// compareBool prints a test of a boolean column.
func (p *printer) compareBool(c Cond) string {
	column := &p.cat.Columns[c.Left.Column]
	yes := catalog.TrueTexts[strings.ToLower(c.Values[0].Text)]
	if c.Op == "!=" {
		yes = !yes
	} else if c.Op != "=" {
		return p.fail("yes and no have no order")
	}
	ref := p.ref(c.Left.Column)
	if column.Kind == catalog.Bool {
		if yes {
			return ref
		}
		return "NOT " + ref
	}
	for _, v := range column.Values {
		if catalog.TrueTexts[strings.ToLower(strings.TrimSpace(v))] && column.IsBoolean() {
			op := " = "
			if !yes {
				op = " <> "
			}
			if column.Kind == catalog.Number {
				return ref + op + v
			}
			return ref + op + Literal(v)
		}
	}
	return p.fail("a column that does not say yes or no")
}

// compareList prints the test whether a list has a value.
func (p *printer) compareList(c Cond) string {
	cells := c.Values[0].Cells[c.Left.Column]
	if len(cells) == 0 || c.Op != "=" && c.Op != "!=" || slices.Contains(p.members, c.Left.Column) {
		return p.fail("a comparison with a list")
	}
	list := make([]string, len(cells))
	for i, cell := range cells {
		list[i] = Literal(cell)
	}
	test := "list_contains(" + p.ref(c.Left.Column) + ", " + list[0] + ")"
	if len(list) > 1 {
		test = "list_has_any(" + p.ref(c.Left.Column) + ", [" + strings.Join(list, ", ") + "])"
	}
	if c.Op == "!=" {
		return "NOT coalesce(" + test + ", false)" // no list has no value
	}
	return test
}

// compareText prints a comparison of text, with the matching cells of the value if there
// are any.
func (p *printer) compareText(c Cond) string {
	ref, v := p.ref(c.Left.Column), c.Values[0]
	switch c.Op {
	case "=", "!=":
	case "between":
		return ref + " BETWEEN " + Literal(v.Text) + " AND " + Literal(c.Values[1].Text)
	default:
		return ref + " " + c.Op + " " + Literal(v.Text)
	}
	not := c.Op == "!="
	cells := v.Cells[c.Left.Column]
	separator := p.cat.Columns[c.Left.Column].Separator
	switch {
	case separator != "" && len(cells) == 1 && !strings.Contains(cells[0], separator):
		test := "contains(" + Literal(separator) + " || lower(" + ref + ") || " + Literal(separator) + ", " + Literal(separator+strings.ToLower(cells[0])+separator) + ")"
		if not {
			return "NOT " + test
		}
		return test
	case len(cells) == 1 && not:
		return ref + " <> " + Literal(cells[0])
	case len(cells) == 1:
		return ref + " = " + Literal(cells[0])
	case len(cells) > 1:
		list := make([]string, len(cells))
		for i, cell := range cells {
			list[i] = Literal(cell)
		}
		in := " IN ("
		if not {
			in = " NOT IN ("
		}
		return ref + in + strings.Join(list, ", ") + ")"
	case v.Exact || v.Kind != TextValue:
		op := " = "
		if not {
			op = " <> "
		}
		return "lower(" + ref + ")" + op + Literal(strings.ToLower(v.Text))
	}
	op := "like"
	if not {
		op = "notlike"
	}
	return p.contains(Cond{Left: c.Left, Op: op, Values: c.Values})
}
