package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
		text := ""
		if q.byPeriod() && q.aggregated() {
			// Time goes one way.
			text = " ORDER BY " + strings.Join(b.groupKeys(q), ", ")
		}
		if q.limit > 0 {
			text += " LIMIT " + strconv.Itoa(q.limit)
		}
		return text
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
		if q.orders[len(q.orders)-1].desc {
			last += " DESC"
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
	case kindText:
		if c.years() {
			return c.numeric(b.ref(c))
		}
	}
	return b.ref(c)
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

// ofTheFirst writes a query for figures of the first few rows only.
func (b *builder) ofTheFirst(q *query) (string, bool) {
	inner := *q
	inner.items = nil
	var outer []string
	for n, i := range q.items {
		if i.column == nil {
			return "", false
		}
		inner.items = append(inner.items, item{column: i.column})
		outer = append(outer, fmt.Sprintf("%s(%s) AS %s", i.agg, i.column.numeric("s."+ident("c"+strconv.Itoa(n))), ident(i.label())))
	}
	from, ok := b.from(q.tablesOf())
	if !ok {
		return "", false
	}
	var names []string
	for n, i := range inner.items {
		names = append(names, b.ref(i.column)+" AS "+ident("c"+strconv.Itoa(n)))
	}
	where, ok := b.where(&inner)
	if !ok {
		return "", false
	}
	return "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(names, ", ") + from + where + b.ordering(&inner) + ") AS s", true
}
