package rules

import (
	"fmt"
	"slices"
	"strings"
)

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
		text, ok := b.absence(q.main, a)
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

// absence says that no row of a table, with some conditions, belongs to a row of
// another, or that one does.
func (b *builder) absence(main *table, a absence) (string, bool) {
	other, conds := a.table, a.conds
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
	word := "NOT IN"
	if a.present {
		word = "IN"
	}
	return fmt.Sprintf("%s %s (SELECT %s%s%s%s IS NOT NULL)", outer, word, ref, from, where, ref), true
}

// cond writes a condition.
func (b *builder) cond(c cond, q *query) (string, bool) {
	if c.negated && q.main != nil && c.column.table != q.main && b.joins.manyOf(q.main, c.column.table) {
		c.negated = false
		return b.absence(q.main, absence{table: c.column.table, conds: []cond{c}})
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
		text = fmt.Sprintf("%s BETWEEN %s AND %s", b.comparable(c.column, ref), number(c.low), number(c.high))
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
		text = fmt.Sprintf("%s %s %s", b.comparable(c.column, ref), op, number(c.low))
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
