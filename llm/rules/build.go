package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// builder writes a query as SQL.
type builder struct {
	joins *joinGraph
	// alias gives each table in FROM its name.
	alias map[*table]string
	n     int
}

// sql writes a query; false when its tables cannot be joined.
func (b *builder) sql(q *query) (string, bool) {
	inner := *q
	if q.both {
		if text, ok := b.intersect(q); ok {
			return text, true
		}
	}
	return b.selectFrom(&inner)
}

// tablesOf are the tables that a query speaks of, the main one first.
func (q *query) tablesOf() []*table {
	var tables []*table
	add := func(t *table) {
		if t != nil && !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	add(q.main)
	for _, i := range q.items {
		if i.column != nil {
			add(i.column.table)
		}
		add(i.table)
	}
	for _, c := range q.groups {
		add(c.table)
	}
	add(q.groupTable)
	for _, c := range q.conds {
		add(c.column.table)
	}
	for _, o := range q.orders {
		if o.item.column != nil {
			add(o.item.column.table)
		}
		add(o.item.table)
	}
	for _, h := range q.having {
		add(h.table)
		if h.col != nil {
			add(h.col.table)
		}
	}
	return tables
}

// from writes FROM for tables and fills in their aliases.
func (b *builder) from(tables []*table) (string, bool) {
	if len(tables) == 0 {
		return "", false
	}
	outer := b.alias
	b.alias = map[*table]string{}
	for t, a := range outer {
		b.alias[t] = a
	}
	name := func(t *table) string {
		b.n++
		b.alias[t] = "t" + strconv.Itoa(b.n)
		return b.alias[t]
	}
	steps, ok := b.joins.connect(tables)
	if !ok {
		return "", false
	}
	var out strings.Builder
	fmt.Fprintf(&out, " FROM %s AS %s", ident(tables[0].name), name(tables[0]))
	for _, s := range steps {
		alias := name(s.to)
		far, near := s.edge.one, s.edge.many
		if s.to == s.edge.many.table {
			far, near = near, far
		}
		left, right := b.ref(near), alias+"."+ident(far.name)
		if near.typed != far.typed || near.kind != far.kind {
			left, right = "CAST("+left+" AS VARCHAR)", "CAST("+right+" AS VARCHAR)"
		}
		fmt.Fprintf(&out, " JOIN %s AS %s ON %s = %s", ident(s.to.name), alias, left, right)
	}
	return out.String(), true
}

func (b *builder) ref(c *column) string { return b.alias[c.table] + "." + ident(c.name) }

// item writes a column of the result.
func (b *builder) item(i item) string {
	if i.agg == "" {
		return b.ref(i.column)
	}
	if i.agg == "any" {
		return "count(*) > 0"
	}
	if i.column == nil {
		return "count(*)"
	}
	ref := b.ref(i.column)
	if i.agg == "count" {
		if i.distinct {
			return "count(DISTINCT " + ref + ")"
		}
		return "count(" + ref + ")"
	}
	if (i.agg == "min" || i.agg == "max") && !i.column.typed && (i.column.kind == kindDate || i.column.kind == kindTime) {
		return "arg_" + i.agg + "(" + ref + ", " + i.column.numeric(ref) + ")"
	}
	return i.agg + "(" + i.column.numeric(ref) + ")"
}

func (b *builder) selectFrom(q *query) (string, bool) {
	from, ok := b.from(q.tablesOf())
	if !ok {
		return "", false
	}
	if q.position != nil {
		return b.positioned(q)
	}
	var out strings.Builder
	out.WriteString("SELECT ")
	if q.distinct && !q.aggregated() {
		out.WriteString("DISTINCT ")
	}
	if q.star {
		out.WriteString(b.alias[q.main] + ".*")
	} else {
		out.WriteString(strings.Join(b.columns(q.items), ", "))
	}
	out.WriteString(from)
	where, ok := b.where(q)
	if !ok {
		return "", false
	}
	out.WriteString(where)
	out.WriteString(b.grouping(q))
	for n, h := range q.having {
		word := " AND "
		if n == 0 {
			word = " HAVING "
		}
		out.WriteString(word + b.having(h))
	}
	out.WriteString(b.ordering(q))
	return out.String(), true
}

// columns writes the columns of the result, with a name of its own for each.
func (b *builder) columns(items []item) []string {
	used := map[string]bool{}
	var all []string
	for _, i := range items {
		name := i.label()
		for n := 2; used[strings.ToLower(name)]; n++ {
			name = i.label() + " " + strconv.Itoa(n)
		}
		used[strings.ToLower(name)] = true
		all = append(all, b.item(i)+" AS "+ident(name))
	}
	return all
}

// label is the name of a column of the result.
func (i item) label() string {
	names := map[string]string{"avg": "average", "sum": "total", "min": "minimum", "max": "maximum", "median": "median"}
	switch {
	case i.agg == "":
		return i.column.name
	case i.agg == "count":
		return "count"
	case i.agg == "any":
		return "any"
	}
	return names[i.agg] + " " + i.column.name
}

func (q *query) aggregated() bool {
	return slices.ContainsFunc(q.items, func(i item) bool { return i.agg != "" })
}

func (b *builder) where(q *query) (string, bool) {
	var parts []string
	for i := 0; i < len(q.conds); {
		j := i + 1
		for j < len(q.conds) && q.conds[i].or != 0 && q.conds[j].or == q.conds[i].or {
			j++
		}
		var alternatives []string
		for _, c := range q.conds[i:j] {
			text, ok := b.cond(c, q)
			if !ok {
				return "", false
			}
			alternatives = append(alternatives, text)
		}
		if len(alternatives) > 1 {
			parts = append(parts, "("+strings.Join(alternatives, " OR ")+")")
		} else {
			parts = append(parts, alternatives[0])
		}
		i = j
	}
	for _, a := range q.absent {
		text, ok := b.absence(q.main, a.table, a.conds)
		if !ok {
			return "", false
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "", true
	}
	return " WHERE " + strings.Join(parts, " AND "), true
}

// absence says that no row of a table, with these conditions, belongs to a row of
// another.
func (b *builder) absence(main, other *table, conds []cond) (string, bool) {
	steps, ok := b.joins.path(main, other)
	if !ok || len(steps) == 0 {
		return "", false
	}
	first := steps[0]
	near, far := first.edge.one, first.edge.many
	if first.from == first.edge.many.table {
		near, far = far, near
	}
	outer := b.ref(near)
	inner := &builder{joins: b.joins, n: b.n + 10}
	tables := []*table{first.to}
	if other != first.to {
		tables = append(tables, other)
	}
	for _, c := range conds {
		if !slices.Contains(tables, c.column.table) {
			tables = append(tables, c.column.table)
		}
	}
	sub := &query{main: first.to, conds: conds}
	from, ok := inner.from(tables)
	if !ok {
		return "", false
	}
	where, ok := inner.where(sub)
	if !ok {
		return "", false
	}
	ref := inner.ref(far)
	if where == "" {
		where = " WHERE "
	} else {
		where += " AND "
	}
	return fmt.Sprintf("%s NOT IN (SELECT %s%s%s%s IS NOT NULL)", outer, ref, from, where, ref), true
}

func (b *builder) grouping(q *query) string {
	if keys := b.groupKeys(q); len(keys) > 0 {
		return " GROUP BY " + strings.Join(keys, ", ")
	}
	return ""
}

// groupKeys are what rows are grouped by; none when they are not.
func (b *builder) groupKeys(q *query) []string {
	if !q.aggregated() && len(q.having) == 0 && !q.ordersByFigure() {
		return nil
	}
	var keys []string
	add := func(c *column) {
		if ref := b.ref(c); !slices.Contains(keys, ref) {
			keys = append(keys, ref)
		}
	}
	if q.groupTable != nil {
		if k := keyColumn(q.groupTable); k != nil {
			add(k)
		}
	}
	for _, c := range q.groups {
		add(c)
	}
	for _, i := range q.items {
		if i.agg == "" {
			add(i.column)
		}
	}
	return keys
}

func (q *query) ordersByFigure() bool {
	return slices.ContainsFunc(q.orders, func(o order) bool { return o.item.agg != "" })
}

func (b *builder) having(h having) string {
	figure := "count(*)"
	if h.agg != "" {
		figure = b.item(item{agg: h.agg, column: h.col})
	}
	if h.op == "between" {
		return fmt.Sprintf("%s BETWEEN %s AND %s", figure, number(h.n), number(h.high))
	}
	return fmt.Sprintf("%s %s %s", figure, h.op, number(h.n))
}

func (b *builder) ordering(q *query) string {
	if len(q.orders) == 0 {
		if q.limit > 0 {
			return " LIMIT " + strconv.Itoa(q.limit)
		}
		return ""
	}
	var parts []string
	keys := b.groupKeys(q)
	for _, o := range q.orders {
		text := b.item(o.item)
		if o.item.agg == "" {
			text = b.sortKey(o.item.column)
			if (q.aggregated() || len(keys) > 0) && !slices.Contains(keys, b.ref(o.item.column)) {
				// Of several rows in one, the one that counts.
				if text = "min(" + text + ")"; o.desc {
					text = "max" + strings.TrimPrefix(text, "min")
				}
			}
		}
		if o.desc {
			text += " DESC"
		}
		parts = append(parts, text+" NULLS LAST")
	}
	// What is equal comes in the same order every time.
	if len(keys) > 0 {
		last := keys[0]
		if i := slices.IndexFunc(q.items, func(i item) bool { return i.agg == "" }); i >= 0 {
			last = b.ref(q.items[i].column)
		}
		parts = append(parts, last)
	}
	out := " ORDER BY " + strings.Join(parts, ", ")
	if q.limit > 0 {
		out += " LIMIT " + strconv.Itoa(q.limit)
	}
	if q.offset > 0 {
		out += " OFFSET " + strconv.Itoa(q.offset)
	}
	return out
}

func (b *builder) sortKey(c *column) string {
	switch c.kind {
	case kindNumber, kindDate, kindTime:
		return c.numeric(b.ref(c))
	}
	return b.ref(c)
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// cond writes a condition.
func (b *builder) cond(c cond, q *query) (string, bool) {
	if c.negated && q.main != nil && c.column.table != q.main && b.joins.manyOf(q.main, c.column.table) {
		c.negated = false
		return b.absence(q.main, c.column.table, []cond{c})
	}
	ref := b.ref(c.column)
	text := ""
	switch c.op {
	case "sql":
		text = c.sql(ref)
	case "in":
		text = inList(c.column, ref, c.texts, c.negated)
		if c.orNull {
			text = "(" + ref + " IS NULL OR " + text + ")"
		}
		return text, true
	case "like":
		text = "CAST(" + ref + " AS VARCHAR) ILIKE " + literal("%"+likeText(c.texts[0])+"%") + ` ESCAPE '\'`
	case "between":
		text = fmt.Sprintf("%s BETWEEN %s AND %s", b.comparable(c.column, ref), b.operand(c.column, c.low), b.operand(c.column, c.high))
	default:
		op := c.op
		if c.negated {
			op = flipped[op]
			c.negated = false
		}
		if c.sub != "" {
			inner := &builder{joins: b.joins, n: b.n + 20}
			sub := &query{main: c.column.table, items: []item{{agg: c.sub, column: c.column}}, conds: c.subConds}
			value, ok := inner.selectFrom(sub)
			if !ok {
				return "", false
			}
			return fmt.Sprintf("%s %s (%s)", c.column.numeric(ref), op, value), true
		}
		text = fmt.Sprintf("%s %s %s", b.comparable(c.column, ref), op, b.operand(c.column, c.low))
	}
	if c.negated {
		text = "NOT (" + text + ")"
	}
	return text, true
}

// comparable is a column as it is compared with a number: of a date, the year.
func (b *builder) comparable(c *column, ref string) string {
	if c.kind == kindDate {
		if c.typed {
			return "year(" + ref + ")"
		}
		return "TRY_CAST(regexp_extract(" + ref + ", '[0-9]{4}') AS INTEGER)"
	}
	return c.numeric(ref)
}

func (b *builder) operand(_ *column, n float64) string { return number(n) }

func inList(c *column, ref string, texts []string, negated bool) string {
	var list []string
	for _, t := range texts {
		if c.typed && c.kind == kindNumber {
			list = append(list, t)
		} else {
			list = append(list, literal(t))
		}
	}
	switch {
	case len(list) == 1 && negated:
		return ref + " <> " + list[0]
	case len(list) == 1:
		return ref + " = " + list[0]
	case negated:
		return ref + " NOT IN (" + strings.Join(list, ", ") + ")"
	}
	return ref + " IN (" + strings.Join(list, ", ") + ")"
}

func likeText(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// intersect writes a query whose conditions hold for different rows of the same
// thing.
func (b *builder) intersect(q *query) (string, bool) {
	var column *column
	for i, c := range q.conds {
		if slices.ContainsFunc(q.conds[i+1:], func(o cond) bool { return o.column == c.column }) {
			column = c.column
		}
	}
	var shared, parts []cond
	for _, c := range q.conds {
		if c.column == column {
			parts = append(parts, c)
		} else {
			shared = append(shared, c)
		}
	}
	if len(parts) < 2 {
		return "", false
	}
	counted := len(q.items) == 1 && q.items[0].agg == "count"
	var texts []string
	for _, p := range parts {
		one := *q
		one.both = false
		p.or = 0
		one.conds = append(append([]cond{}, shared...), p)
		if counted {
			key := keyColumn(q.main)
			if key == nil {
				return "", false
			}
			one.items = []item{{column: key}}
		}
		text, ok := b.selectFrom(&one)
		if !ok {
			return "", false
		}
		texts = append(texts, text)
		b.n += 20
	}
	text := strings.Join(texts, " INTERSECT ")
	if counted {
		return "SELECT count(*) AS " + ident("count") + " FROM (" + text + ") AS s", true
	}
	return text, true
}

// positioned writes a query for rows by where they stand in their table.
func (b *builder) positioned(q *query) (string, bool) {
	b.alias = map[*table]string{q.main: "r"}
	where, ok := b.where(q)
	if !ok {
		return "", false
	}
	numbered := "(SELECT *, row_number() OVER () AS __n FROM " + ident(q.main.name) + ")"
	columns := strings.Join(b.columns(q.items), ", ")
	if q.aggregated() {
		columns = "count(*) AS " + ident("count")
	}
	p := q.position
	key := "r.__n"
	if p.by != nil {
		key = b.sortKey(p.by)
		if where == "" {
			where = " WHERE " + key + " IS NOT NULL"
		} else {
			where += " AND " + key + " IS NOT NULL"
		}
	}
	if p.offset == 0 {
		direction := ""
		if p.end == "last" {
			direction = " DESC"
		}
		return fmt.Sprintf("WITH r AS %s SELECT %s FROM r%s ORDER BY %s%s, r.__n%s LIMIT 1 OFFSET %d",
			numbered, columns, where, key, direction, direction, max(0, p.n-1)), true
	}
	anchor, ok := b.cond(p.anchor, q)
	if !ok {
		return "", false
	}
	pick, op, direction := "max", ">", ""
	if p.offset < 0 {
		pick, op, direction = "min", "<", " DESC"
	}
	if where == "" {
		where = " WHERE "
	} else {
		where += " AND "
	}
	text := fmt.Sprintf("WITH r AS %s SELECT %s FROM r%sr.__n %s (SELECT %s(r.__n) FROM r WHERE %s)", numbered, columns, where, op, pick, anchor)
	if q.aggregated() {
		return text, true
	}
	return text + " ORDER BY r.__n" + direction + " LIMIT 1", true
}
