package rules

import (
	"slices"
	"strconv"
	"strings"
)

// settleWithin reads a superlative with groups as the greatest of each: "the
// dearest product of each category". False where that is not what is asked.
func (r *reader) settleWithin() bool {
	q := r.q
	if r.solo() || len(q.orders) != 1 || q.limit == 0 || q.offset > 0 || q.orders[0].item.column == nil {
		return false
	}
	keys, within := slices.Clone(q.groups), slices.Clone(q.groups)
	if q.groupTable != nil && q.groupTable != q.main {
		// Two may have the same name.
		keys, within = append(keys, nameColumn(q.groupTable)), append(within, keyColumn(q.groupTable))
	}
	if len(keys) == 0 || slices.Contains(keys, nil) || slices.Contains(within, nil) {
		return false
	}
	q.within, q.groups, q.groupTable = within, nil, nil
	for _, c := range append(slices.Clone(keys), q.orders[0].item.column) {
		if slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" && i.column == c }) {
			continue
		}
		if at := slices.Index(keys, c); at >= 0 {
			q.items = slices.Insert(q.items, at, item{column: c})
		} else {
			q.items = append(q.items, item{column: c})
		}
	}
	r.note("the first of each " + keys[0].label())
	return true
}

// label is what a column is called in a note or a result.
func (c *column) label() string { return item{column: c}.label() }

// firstOfEach writes the condition that a row is among the first of its group, and
// the order of the groups.
func (b *builder) firstOfEach(q *query) string {
	var keys []string
	for _, c := range q.within {
		keys = append(keys, b.ref(c))
	}
	o := q.orders[0]
	by := b.sortKey(o.item.column)
	if o.desc {
		by += " DESC"
	}
	list := strings.Join(keys, ", ")
	return " QUALIFY rank() OVER (PARTITION BY " + list + " ORDER BY " + by + " NULLS LAST) <= " + strconv.Itoa(q.limit) + " ORDER BY " + list
}
