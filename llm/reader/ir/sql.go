package ir

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/internal/locale"
	"parley/internal/sqltext"
	"parley/llm/reader/catalog"
)

// Ident quotes a name for SQL.
func Ident(name string) string { return sqltext.Name(name) }

// Literal quotes a text for SQL.
func Literal(text string) string { return sqltext.Text(strings.ReplaceAll(text, "\x00", "")) }

// Source prints a dataset in FROM: its name, or the rows of its parts.
func Source(name string, parts, columns []string) string {
	if len(parts) == 0 {
		return Ident(name)
	}
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = Ident(c)
	}
	selects := make([]string, len(parts))
	for i, p := range parts {
		selects[i] = "SELECT " + strings.Join(quoted, ", ") + " FROM " + Ident(p)
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") AS " + Ident(name)
}

// TableSource prints a table of a catalog in FROM.
func TableSource(cat *catalog.Catalog, table int) string {
	t := &cat.Tables[table]
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = cat.Columns[c].Name
	}
	return Source(t.Name, t.Parts, names)
}

// SQL prints a query as DuckDB SQL. A condition on the many side of a link is a semijoin,
// and no aggregate counts a row twice. Meaningless queries, such as a sum of texts, are
// errors.
func SQL(q *Query, cat *catalog.Catalog, now time.Time) (string, error) {
	text, _, err := printQuery(q, cat, now)
	return text, err
}

// WithMeasure prints a query for people. If it selects the first rows by a measure that it does
// not show, the measure is the last column, and its name is returned; "" otherwise. If it compares
// two figures, both follow, such as "__total_amount in 2025".
func WithMeasure(q *Query, cat *catalog.Catalog, now time.Time) (text, measure string, err error) {
	p := &printer{cat: cat, now: now, outermost: q.Set == "", added: &measure}
	text = p.query(q)
	return text, measure, p.err
}

// Doubted returns the columns whose texts a query converts to numbers or dates although there is
// a [catalog.Doubt].
func Doubted(q *Query, cat *catalog.Catalog, now time.Time) []int {
	_, doubted, _ := printQuery(q, cat, now)
	return doubted
}

// printQuery prints a query, and collects the columns of [Doubted].
func printQuery(q *Query, cat *catalog.Catalog, now time.Time) (text string, doubted []int, err error) {
	p := &printer{cat: cat, now: now, outermost: q.Set == "", doubted: &doubted}
	if text = p.query(q); p.err != nil {
		return "", doubted, p.err
	}
	return text, doubted, nil
}

// Tables returns the tables that a query reads, without those of subqueries, and the links
// that join them.
func Tables(q *Query, cat *catalog.Catalog) (tables []int, links []catalog.Link, err error) {
	p := &printer{cat: cat, joins: joins{graph: graph{cat, q.Via}}}
	if err := p.join(q); err != nil {
		return nil, nil, err
	}
	all := terms(q.Where)
	for i := range all {
		p.joinOrPath(&all[i])
	}
	tables = slices.Clone(p.joins.tables)
	steps := slices.Clone(p.joins.steps)
	for _, t := range all {
		steps = append(steps, t.path...)
	}
	for _, s := range steps {
		if !slices.Contains(tables, s.to) {
			tables = append(tables, s.to)
		}
		if !slices.Contains(links, s.link) {
			links = append(links, s.link)
		}
	}
	return tables, links, p.err
}

// Repeats reports whether the joins of a query repeat rows of a table.
func Repeats(q *Query, cat *catalog.Catalog, table int) bool {
	p := &printer{cat: cat, joins: joins{graph: graph{cat, q.Via}}}
	if err := p.join(q); err != nil {
		return true
	}
	all := terms(q.Where)
	for i := range all {
		p.joinOrPath(&all[i])
	}
	return p.joins.multiplies(table)
}

// printer prints one SELECT; each subquery has its own printer.
type printer struct {
	cat *catalog.Catalog
	now time.Time
	err error
	// joins are the tables of this SELECT.
	joins joins
	// deduped has the names of columns in the subquery of distinct rows; nil if there is
	// none.
	deduped map[int]string
	// numbered is the table with row numbers; -1 for none.
	numbered int
	// members are the columns of lists in place of which rows have a member each.
	members []int
	// counted is what count(*) counts the distinct values of; "" for rows.
	counted string
	// measured says that the selected values are compared: see expr.
	measured bool
	// outermost says that it is no subquery, and tied that the rows that tie with the last
	// one are printed too.
	outermost, tied bool
	// added gets the name of the measure that is printed besides the items; nil to print none.
	added *string
	// doubted collects columns of texts that are converted although there is a doubt, if
	// it is not nil.
	doubted *[]int
}

func (p *printer) fail(format string, args ...any) string {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	return ""
}

// sub prints a subquery; for measured see expr.
func (p *printer) sub(q *Query, measured bool) string {
	return p.printInner(&printer{cat: p.cat, now: p.now, doubted: p.doubted, measured: measured}, q)
}

func (p *printer) printInner(inner *printer, q *Query) string {
	text := inner.query(q)
	if inner.err != nil && p.err == nil {
		p.err = inner.err
	}
	return text
}

func (p *printer) query(q *Query) string {
	text := p.selectStatement(q)
	if q.Set == "" {
		return text
	}
	if len(q.Order) > 0 || q.Limit > 0 {
		text = "(" + text + ")"
	}
	return text + " " + strings.ToUpper(q.Set) + " " + p.printInner(&printer{cat: p.cat, now: p.now, doubted: p.doubted, measured: p.measured}, q.Right)
}

// selectStatement prints a SELECT without set operations.
func (p *printer) selectStatement(q *Query) string {
	p.joins = joins{graph: graph{p.cat, q.Via}}
	p.numbered, p.counted = -1, ""
	if err := p.check(q); err != nil {
		p.err = errors.Join(p.err, err)
		return ""
	}
	if err := p.join(q); err != nil {
		p.err = errors.Join(p.err, err)
		return ""
	}
	p.listMembers(q)
	where := p.where(q)
	if p.err != nil {
		return ""
	}
	source := ""
	if base := p.repeated(q); base >= 0 {
		source = p.distinctRows(q, base, where)
	}
	// The items and the order decide whether rows need numbers.
	items, order := p.items(q), p.order(q)
	if source == "" && len(p.joins.tables) > 0 {
		source = p.from() + where
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	if q.Distinct {
		b.WriteString("DISTINCT ")
	}
	b.WriteString(strings.Join(items, ", "))
	if source != "" {
		b.WriteString(" FROM " + source)
	}
	for i, e := range groupKeys(q) {
		b.WriteString([]string{" GROUP BY ", ", "}[min(i, 1)] + p.expr(e, false))
	}
	if len(q.Having) > 0 {
		b.WriteString(" HAVING " + p.conds(q.Having))
	}
	if order == "" && (q.Each != nil || q.Nth > 1) {
		return p.fail("no order for rows that are chosen by their number")
	}
	if q.Each != nil && q.Limit > 0 {
		fmt.Fprintf(&b, " QUALIFY row_number() OVER (PARTITION BY %s%s)%s", p.expr(*q.Each, false), order, rowNumberTest(q))
		return b.String()
	}
	if p.tied {
		fmt.Fprintf(&b, " QUALIFY rank() OVER (ORDER BY %s) <= %d", strings.Join(p.sortKeys(q), ", "), q.Limit)
		return b.String() + order
	}
	b.WriteString(order)
	if q.Limit > 0 {
		fmt.Fprintf(&b, " LIMIT %d", q.Limit)
	}
	if q.Nth > 1 {
		fmt.Fprintf(&b, " OFFSET %d", q.Nth-1)
	}
	return b.String()
}

// join joins the tables of the columns that the query shows, groups and sorts by, or else
// those of its conditions.
func (p *printer) join(q *Query) error {
	var tables []int
	add := func(column int) {
		if column >= 0 && !slices.Contains(tables, p.cat.Columns[column].Table) {
			tables = append(tables, p.cat.Columns[column].Table)
		}
	}
	visitShown(q, add)
	if len(q.Items) > 0 && len(q.From)+len(q.Where)+len(q.Group)+len(q.Having)+len(q.Order) == 0 && !slices.ContainsFunc(q.Items, func(e Expr) bool { return !isScalar(e) }) {
		return nil
	}
	for _, c := range q.Where {
		apart := c.Left.Other >= 0 && p.cat.Columns[c.Left.Other].Table != p.cat.Columns[c.Left.Column].Table
		if c.Column >= 0 || apart || c.Op == "after" || c.Op == "before" {
			visitColumns(c.Left, add)
			add(c.Column)
		}
	}
	for _, t := range q.From {
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 && len(q.Where) > 0 {
		visitColumns(q.Where[0].Left, add)
	}
	if len(tables) == 0 {
		return errors.New("no table to read")
	}
	for _, t := range tables {
		if err := p.joins.add(t); err != nil {
			return err
		}
	}
	return nil
}

// visitShown calls f with each column that a query shows, groups or sorts by.
func visitShown(q *Query, f func(column int)) {
	for _, e := range q.Items {
		visitColumns(e, f)
	}
	for _, e := range q.Group {
		visitColumns(e, f)
	}
	for _, c := range q.Having {
		visitColumns(c.Left, f)
		if c.Right != nil {
			visitColumns(*c.Right, f)
		}
	}
	for _, s := range q.Order {
		visitColumns(s.By, f)
	}
	if q.Each != nil {
		visitColumns(*q.Each, f)
	}
}

// visitColumns calls f with each column of an expression, and with -1 for absent ones.
func visitColumns(e Expr, f func(column int)) {
	f(e.Column)
	f(e.Other)
	for _, o := range e.Then {
		f(o.Column)
	}
	if e.Second != nil {
		visitColumns(*e.Second, f)
	}
	for _, c := range slices.Concat(e.Conds, e.Versus) {
		visitColumns(c.Left, f)
		f(c.Column)
	}
}

// from prints the tables and joins.
func (p *printer) from() string {
	var b strings.Builder
	b.WriteString(p.table(p.joins.tables[0]))
	for _, s := range p.joins.steps {
		fmt.Fprintf(&b, " JOIN %s ON ", p.table(s.to))
		for i, pair := range s.link.Pairs() {
			if i > 0 {
				b.WriteString(" AND ")
			}
			from, to := p.linkRef(pair[0], pair[1]), p.linkRef(pair[1], pair[0])
			b.WriteString(from + " = " + to)
		}
	}
	return b.String()
}

// table prints a table in FROM, with row numbers if the query needs them.
func (p *printer) table(t int) string {
	source := TableSource(p.cat, t)
	for _, c := range p.members {
		name := Ident(p.cat.Columns[c].Name)
		source = "(SELECT * REPLACE (unnest(" + name + ") AS " + name + ") FROM " + source + ") AS " + Ident(p.cat.Tables[t].Name)
	}
	if t == p.numbered {
		return "(SELECT *, row_number() OVER () AS " + p.rowNumber() + " FROM " + source + ") AS " + Ident(p.cat.Tables[t].Name)
	}
	return source
}

// listMembers has groups by lists, and different lists, be those of their members: rows have one
// each then.
func (p *printer) listMembers(q *Query) {
	p.members = nil
	keys := groupKeys(q)
	if q.Distinct {
		keys = slices.Concat(keys, q.Items)
	}
	if len(q.Items) == 1 && q.Items[0].Distinct && q.Items[0].Column >= 0 {
		keys = append(slices.Clone(keys), Expr{Kind: "column", Column: q.Items[0].Column})
	}
	for _, e := range keys {
		if e.Kind != "column" || !p.cat.Columns[e.Column].List || slices.Contains(p.members, e.Column) {
			continue
		}
		if p.members = append(p.members, e.Column); len(p.members) > 1 || len(p.joins.tables) > 1 {
			p.fail("groups by lists of one of several tables, or by several lists")
		}
	}
}

// numberRows adds row numbers to a table. Only one table can have them.
func (p *printer) numberRows(table int) {
	if p.deduped != nil || p.numbered >= 0 && p.numbered != table {
		p.fail("numbers of rows that are joined")
	}
	p.numbered = table
}

// rowNumber returns the name of the row numbers, which differs from all columns.
func (p *printer) rowNumber() string {
	name := "row_no"
	for slices.ContainsFunc(p.cat.Columns, func(c catalog.Column) bool { return strings.EqualFold(c.Name, name) }) {
		name += "_"
	}
	return name
}

// ref prints a column.
func (p *printer) ref(column int) string {
	if name, ok := p.deduped[column]; ok {
		return name
	}
	c := &p.cat.Columns[column]
	if len(p.joins.tables) == 1 {
		return Ident(c.Name)
	}
	return Ident(p.cat.Tables[c.Table].Name) + "." + Ident(c.Name)
}

// linkRef prints a column as it is compared with the other one of a link: texts and numbers
// are both compared as texts.
func (p *printer) linkRef(column, other int) string {
	if (p.cat.Columns[column].Kind == catalog.Text) != (p.cat.Columns[other].Kind == catalog.Text) {
		return "CAST(" + p.ref(column) + " AS VARCHAR)"
	}
	return p.ref(column)
}

// items prints the selected expressions, with a name for each that is no column.
func (p *printer) items(q *Query) []string {
	var all []string
	names := map[string]bool{}
	named := func(text, label string) string {
		name := label
		for n := 2; names[name]; n++ {
			name = fmt.Sprintf("%s_%d", label, n)
		}
		names[name] = true
		all = append(all, text+" AS "+Ident(name))
		return name
	}
	for _, e := range q.Items {
		text := p.expr(e, p.measured)
		if e.Kind == "column" && e.Op == "" {
			names[strings.ToLower(p.cat.Columns[e.Column].Name)] = true
			all = append(all, text)
		} else if name := p.label(e); name != "" {
			named(text, name)
		} else {
			all = append(all, text)
		}
	}
	if by, ok := p.sortMeasure(q); ok {
		*p.added = named(p.expr(by, true), cmp.Or(p.label(by), "measure"))
	}
	if p.added != nil && p.outermost && len(q.Items) == 1 && len(q.Group) == 0 {
		s := &describer{cat: p.cat, numbers: locale.NumbersOf("")}
		s.main = s.mainTable(q)
		for _, side := range q.Items[0].sides() {
			figure, conditions := side, "in all"
			if figure.Conds = nil; len(side.Conds) > 0 {
				conditions = s.terms(terms(side.Conds))
			}
			named(p.expr(side, true), "__"+p.label(figure)+" "+conditions)
		}
	}
	return all
}

// repeated returns the table whose rows the joins repeat although the query aggregates
// them; -1 for none. If the query only counts rows, it counts their distinct keys instead.
func (p *printer) repeated(q *Query) int {
	tables, onlyCounts, others := p.bases(q)
	switch {
	case len(tables) == 0:
		return -1
	case len(tables) > 1, others && !onlyCounts:
		p.fail("figures of two tables that multiply each other")
		return -1
	case onlyCounts:
		p.counted = p.rowKey(tables[0])
		return -1
	}
	return tables[0]
}

// rowKey prints what tells the rows of a table apart: its key, or else their numbers.
func (p *printer) rowKey(table int) string {
	if key := p.cat.Tables[table].Key; key >= 0 {
		return p.ref(key)
	}
	p.numberRows(table)
	return p.rowNumber()
}

// distinctRows prints a subquery with the columns that the query needs, with each row of
// the base table once per group. A column keeps its name unless another has it.
func (p *printer) distinctRows(q *Query, base int, where string) string {
	const key = "row_key"
	names, taken := map[int]string{}, map[string]bool{key: true}
	columns := []string{p.rowKey(base) + " AS " + key}
	visitShown(q, func(column int) {
		if column < 0 || names[column] != "" {
			return
		}
		name := p.cat.Columns[column].Name
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s_%d", p.cat.Columns[column].Name, n)
		}
		taken[strings.ToLower(name)] = true
		names[column] = Ident(name)
		columns = append(columns, p.ref(column)+" AS "+names[column])
	})
	source := "(SELECT DISTINCT " + strings.Join(columns, ", ") + " FROM " + p.from() + where + ") AS distinct_rows"
	p.deduped = names
	return source
}

// rowNumberTest prints the test of row numbers for Limit and Nth.
func rowNumberTest(q *Query) string {
	switch {
	case q.Nth <= 1:
		return fmt.Sprintf(" <= %d", q.Limit)
	case q.Limit == 1:
		return fmt.Sprintf(" = %d", q.Nth)
	}
	return fmt.Sprintf(" BETWEEN %d AND %d", q.Nth, q.Nth+q.Limit-1)
}

// sortMeasure returns the measure by which the first rows are selected, if it is to be printed and
// the query does not show it.
func (p *printer) sortMeasure(q *Query) (by Expr, ok bool) {
	if p.added == nil || !p.outermost || q.Distinct || q.Limit == 0 || len(q.Order) == 0 {
		return by, false
	}
	by = q.Order[0].By
	class := p.classOf(by, true)
	return by, by.Kind != "rowid" && (class == number || class == date) &&
		!slices.ContainsFunc(q.Items, func(e Expr) bool { return e.Kind == "*" || reflect.DeepEqual(e, by) })
}

// groupKeys returns the keys of GROUP BY: those of the query, and the other expressions
// that it shows and sorts by besides aggregates.
func groupKeys(q *Query) []Expr {
	if len(q.Group) == 0 && !hasAggregates(q) {
		return nil
	}
	var keys []Expr
	add := func(e Expr) {
		if !isAggregate(e) && !isScalar(e) && e.Kind != "*" && e.Kind != "rowid" && !slices.ContainsFunc(keys, func(k Expr) bool { return reflect.DeepEqual(k, e) }) {
			keys = append(keys, e)
		}
	}
	for _, e := range slices.Concat(q.Group, q.Items) {
		add(e)
	}
	for _, s := range q.Order {
		if len(keys) > 0 {
			add(s.By)
		}
	}
	return keys
}

// isAggregate reports whether an expression is an aggregate of a query's own rows.
func isAggregate(e Expr) bool {
	switch e.Kind {
	case "agg", "query":
		return e.Kind == "agg" && e.Sub == nil || e.Second != nil && isAggregate(*e.Second)
	case "pct", "pctof", "share", "ratio", "diff", "growth":
		return true
	}
	return false
}

// isScalar reports whether an expression only has values of queries within it.
func isScalar(e Expr) bool {
	return (e.Kind == "agg" || e.Kind == "query") && !isAggregate(e)
}

// hasAggregates reports whether a query has aggregates.
func hasAggregates(q *Query) bool {
	return len(q.Having) > 0 || slices.ContainsFunc(q.Items, isAggregate) ||
		slices.ContainsFunc(q.Order, func(s Sort) bool { return isAggregate(s.By) })
}

// tieBreakers returns the shown columns besides the sort keys, to make the order of ties
// deterministic.
func (p *printer) tieBreakers(q *Query) []string {
	var keys []string
	for _, e := range q.Items {
		sorted := slices.ContainsFunc(q.Order, func(s Sort) bool { return s.By.Kind == "rowid" || s.By.Kind == e.Kind && s.By.Column == e.Column })
		if (e.Kind == "column" && e.Op == "" || e.Kind == "part") && !sorted {
			keys = append(keys, p.expr(e, false))
		}
	}
	return keys
}

// sortKeys prints the keys that a query sorts by.
func (p *printer) sortKeys(q *Query) (keys []string) {
	for _, s := range q.Order {
		key := p.expr(s.By, true)
		if s.By.Kind == "part" && (s.By.Func == "monthof" || s.By.Func == "weekday") {
			if key = p.partNumber(s.By); len(groupKeys(q)) > 0 {
				key = "min(" + key + ")"
			}
		}
		if s.Desc {
			key += " DESC"
		}
		// NULL never comes first.
		keys = append(keys, key+" NULLS LAST")
	}
	return keys
}

func (p *printer) order(q *Query) string {
	keys := p.sortKeys(q)
	if len(keys) > 0 && q.Limit > 0 {
		keys = append(keys, p.tieBreakers(q)...)
	}
	if len(keys) == 0 && p.outermost && q.Each == nil && q.Nth <= 1 {
		keys = p.groupOrder(q)
	}
	if len(keys) == 0 {
		return ""
	}
	return " ORDER BY " + strings.Join(keys, ", ")
}

// groupOrder prints the default order of groups: by their keys if these have an order, such
// as times and numbers, and otherwise by the first aggregate, highest first.
func (p *printer) groupOrder(q *Query) (keys []string) {
	groups := groupKeys(q)
	ordered := slices.ContainsFunc(groups, func(e Expr) bool {
		return e.Kind != "column" || p.classOf(e, true) != text && (len(groups) == 1 || !isKey(e, p.cat))
	})
	if at := slices.IndexFunc(q.Items, isAggregate); at >= 0 && len(groups) > 0 && !ordered {
		keys = append(keys, p.expr(q.Items[at], true)+" DESC NULLS LAST")
	}
	for _, e := range groups {
		keys = append(keys, p.keyOrder(e))
	}
	return keys
}

// keyOrder prints the order of groups by a key: months and weekdays are as in the calendar.
func (p *printer) keyOrder(e Expr) string {
	if e.Kind == "part" && (e.Func == "monthof" || e.Func == "weekday") {
		return "min(" + p.partNumber(e) + ")"
	}
	return p.expr(e, false)
}
