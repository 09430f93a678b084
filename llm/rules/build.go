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
	if q.both {
		if text, ok := b.intersect(q); ok {
			return text, true
		}
	}
	return b.selectFrom(q)
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
		for _, c := range i.of {
			add(c.column.table)
		}
	}
	for _, c := range append(slices.Clone(q.groups), q.within...) {
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
		for _, c := range o.item.of {
			add(c.column.table)
		}
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

func (b *builder) ref(c *column) string {
	ref := b.alias[c.table] + "." + ident(c.name)
	if c.period != "" {
		return periods[c.period](c.dated(ref))
	}
	return ref
}

// item writes a column of the result.
func (b *builder) item(i item) string {
	if i.agg == "" {
		return b.ref(i.column)
	}
	if i.agg == "any" {
		return "count(*) > 0"
	}
	if i.agg == "share" {
		return b.share(i)
	}
	if i.agg == "each" {
		return b.each(i)
	}
	if i.agg == "change" {
		return b.change(i)
	}
	if i.column == nil {
		if key := b.joinedKey(i.table); i.agg == "count" && key != nil {
			return "count(DISTINCT " + b.ref(key) + ")"
		}
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
	if q.aggregated() && q.limit > 1 && len(b.groupKeys(q)) == 0 {
		return b.ofTheFirst(q)
	}
	if len(q.having) > 0 && len(q.groups) == 0 && q.groupTable != nil && len(q.items) == 1 && q.items[0].agg == "count" && q.items[0].table == q.groupTable {
		return b.countGroups(q)
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
	if len(q.within) > 0 {
		out.WriteString(b.firstOfEach(q))
	} else {
		out.WriteString(b.ordering(q))
	}
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
	case i.agg == "" && i.column.period != "":
		return i.column.period
	case i.agg == "":
		return i.column.name
	case i.agg == "count":
		return "count"
	case i.agg == "any":
		return "any"
	case i.agg == "each" && i.figure.column != nil:
		return "average " + i.figure.column.name
	case i.agg == "each":
		return "average count"
	case i.agg == "share", i.agg == "change":
		return i.agg + " in percent"
	case i.agg == "max" && i.column.kind == kindDate:
		return "latest " + i.column.name
	case i.agg == "min" && i.column.kind == kindDate:
		return "earliest " + i.column.name
	}
	return names[i.agg] + " " + i.column.name
}

func (q *query) aggregated() bool {
	return slices.ContainsFunc(q.items, func(i item) bool { return i.agg != "" })
}

func (q *query) ordersByFigure() bool {
	return slices.ContainsFunc(q.orders, func(o order) bool { return o.item.agg != "" })
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
