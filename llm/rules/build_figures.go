package rules

import (
	"fmt"
	"strings"
)

// share writes how many in a hundred rows, or of what they are worth together,
// meet the conditions on the part.
func (b *builder) share(i item) string {
	var parts []string
	for _, c := range i.of {
		if text, ok := b.cond(c, &query{}); ok {
			parts = append(parts, text)
		}
	}
	whole := "count(*)"
	if i.column != nil {
		whole = "sum(" + i.column.numeric(b.ref(i.column)) + ")"
	}
	return fmt.Sprintf("round(100.0 * %s FILTER (WHERE %s) / nullif(%s, 0), 2)", whole, strings.Join(parts, " AND "), whole)
}

// each writes what a figure is on average for each value of a column.
func (b *builder) each(i item) string {
	return b.item(*i.figure) + " / count(DISTINCT " + b.ref(i.column) + ")"
}

// change writes by how many percent a figure differs from that of the span of time
// before.
func (b *builder) change(i item) string {
	figure := b.item(*i.figure)
	return fmt.Sprintf("round(100.0 * (%s / nullif(lag(%s) OVER (ORDER BY %s), 0) - 1), 2)", figure, figure, b.ref(i.by))
}

// joinedKey is the key of a table whose rows a query has several times, as it is
// joined with what happened to them; nil when each is there once.
func (b *builder) joinedKey(t *table) *column {
	if t == nil {
		return nil
	}
	for other := range b.alias {
		if other != t && b.joins.manyOf(t, other) {
			return keyColumn(t)
		}
	}
	return nil
}

// countGroups writes how many rows of a table have so many of another.
func (b *builder) countGroups(q *query) (string, bool) {
	key := keyColumn(q.groupTable)
	if key == nil {
		return "", false
	}
	inner := *q
	inner.items = []item{{column: key}}
	inner.orders, inner.limit = nil, 0
	text, ok := b.selectFrom(&inner)
	return "SELECT count(*) AS " + ident("count") + " FROM (" + text + ") AS s", ok
}
