package ir

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"parley/llm/reader/catalog"
)

// WithKeys returns a query that shows the key of a table besides the names of its rows, if it
// groups by the names or removes repeated ones, and names repeat: two customers of the same
// name are not one. It returns other queries as they are.
func WithKeys(q *Query, cat *catalog.Catalog) *Query {
	_, links, err := Tables(q, cat)
	if err != nil || q.Set != "" || !q.Distinct && len(q.Group) == 0 && !hasAggregates(q) {
		return q
	}
	for i, e := range q.Items {
		if e.Kind != "column" || e.Op != "" || !cat.NamesRepeat(e.Column) {
			continue
		}
		key := cat.Tables[cat.Columns[e.Column].Table].Key
		same := func(e Expr) bool { return e.Kind == "column" && e.Column == key }
		if !slices.ContainsFunc(links, func(l catalog.Link) bool { return l.To == key }) || slices.ContainsFunc(q.Items, same) {
			continue
		}
		with, shown := *q, Expr{Kind: "column", Column: key, Other: -1}
		with.Items = slices.Insert(slices.Clone(q.Items), i+1, shown)
		if len(q.Group) > 0 && !slices.ContainsFunc(q.Group, same) {
			with.Group = append(slices.Clone(q.Group), shown)
		}
		return &with
	}
	return q
}

// isKey reports whether an expression is the key of a table.
func isKey(e Expr, cat *catalog.Catalog) bool {
	return e.Kind == "column" && e.Op == "" && cat.Tables[cat.Columns[e.Column].Table].Key == e.Column
}

// TiedSQL prints a query like [WithMeasure], with all rows that tie with the last one of its limit;
// "" for a query whose first rows do not go by a figure or a date.
func TiedSQL(q *Query, cat *catalog.Catalog, now time.Time) string {
	p := &printer{cat: cat, now: now, outermost: true, tied: true, added: new(string)}
	if q.Limit == 0 || q.Nth > 1 || q.Each != nil || q.Set != "" || q.Distinct || len(q.Order) == 0 {
		return ""
	}
	if class := p.classOf(q.Order[0].By, true); q.Order[0].By.Kind == "rowid" || class != number && class != date {
		return ""
	}
	text := p.query(q)
	if p.err != nil {
		return ""
	}
	return text
}

// AverageSQL prints the average of the figure that a query has for each group.
func AverageSQL(q *Query, cat *catalog.Catalog, now time.Time) (string, error) {
	at, groups := slices.IndexFunc(q.Items, isAggregate), 0
	for i, e := range q.Items {
		// A key besides a name makes no other groups.
		if i != at && (!isKey(e, cat) || len(q.Items) == 2) {
			groups++
		}
	}
	if at < 0 || groups != 1 || isAggregate(q.Items[(at+1)%len(q.Items)]) || q.Limit > 0 || q.Set != "" {
		return "", errors.New("no figure of groups")
	}
	p := &printer{cat: cat, now: now}
	text, name := p.query(q), p.label(q.Items[at])
	if p.err != nil || name == "" {
		return "", cmp.Or(p.err, errors.New("a figure without a name"))
	}
	return "SELECT avg(" + Ident(name) + ") AS " + Ident("average_"+name) + " FROM (" + text + ") AS figures", nil
}
