package ir

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

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

// sortMeasure prints the measure by which the first rows are selected, if the query does
// not show it; "" for none.
func (p *printer) sortMeasure(q *Query) string {
	if !p.outermost || q.Distinct || q.Limit == 0 || len(q.Order) == 0 {
		return ""
	}
	by := q.Order[0].By
	if class := p.classOf(by, true); by.Kind == "rowid" || class != number && class != date ||
		slices.ContainsFunc(q.Items, func(e Expr) bool { return e.Kind == "*" || reflect.DeepEqual(e, by) }) {
		return ""
	}
	return p.expr(by, true) + " AS " + Ident(internalName(p.label(by)))
}

// internalName returns an internal name. It avoids the two that have a meaning in results.
func internalName(name string) string {
	name = "__" + cmp.Or(name, "measure")
	if name == "__score" || name == "__metadata" {
		name += "_"
	}
	return name
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
