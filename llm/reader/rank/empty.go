package rank

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// withoutRows returns the readings with the most likely one first, if it has no rows and is
// an answer nevertheless; nil otherwise. That a query has no rows is a sign of a wrong reading. It
// is none if the query reflects every word, and compares dates, or numbers of a column that a word
// names, with a value of the question beyond all of them: then the confidence is that of a query with rows.
func withoutRows(question *Question, all []Reading) []Reading {
	if len(all) == 0 {
		return nil
	}
	likeliest := slices.MaxFunc(all, func(a, b Reading) int { return cmp.Compare(a.Probability, b.Probability) })
	isImplied := func(t ir.Token) bool { return t.Is("k0") } // a 0 that the question does not have
	if !likeliest.Empty || len(likeliest.Unread) > 0 || slices.ContainsFunc(likeliest.Tokens, isImplied) || question.isElsewhere(&likeliest) || !question.isOutOfRange(likeliest.Query) {
		return nil
	}
	likeliest.Features = slices.Clone(likeliest.Features)
	likeliest.Features[slices.Index(FeatureNames, "empty")] = 0
	rated := []Reading{likeliest}
	for _, r := range all {
		// What is asked about no rows makes no difference: there are none.
		if r.SQL != likeliest.SQL && !reflect.DeepEqual(r.Query.Where, likeliest.Query.Where) {
			rated = append(rated, r)
		}
	}
	rate(question, rated)
	if rated[0].SQL != likeliest.SQL || !IsSure(rated[0].Confidence) {
		return nil
	}
	return rated
}

// isOutOfRange reports whether a condition of a query excludes all values of its column.
func (q *Question) isOutOfRange(query *ir.Query) bool {
	return query.Set == "" && !slices.ContainsFunc(query.Where, func(c ir.Cond) bool { return c.Or }) &&
		slices.ContainsFunc(query.Where, func(c ir.Cond) bool {
			return excludesAll(c, q.Catalog) && (q.Catalog.Columns[c.Left.Column].Kind == catalog.Date || q.isMentioned(c.Left.Column))
		})
}

// excludesAll reports whether the least and the greatest value of a column show that none meets a
// condition.
func excludesAll(c ir.Cond, cat *catalog.Catalog) bool {
	if c.Left.Kind != "column" || c.Left.Op != "" || len(c.Values) == 0 {
		return false
	}
	column := &cat.Columns[c.Left.Column]
	if column.Least == "" || !column.Native {
		return false
	}
	first, last := c.Values[0], c.Values[len(c.Values)-1]
	if column.Kind == catalog.Date {
		// A period includes its first day and excludes its last one.
		isBefore, isAfter := last.To != "" && last.To <= column.Least, first.From > column.Most
		switch c.Op {
		case "<":
			return first.From != "" && first.From <= column.Least
		case "<=":
			return isBefore
		case ">":
			return first.To > column.Most
		case ">=":
			return isAfter
		}
		return (c.Op == "=" || c.Op == "between") && (isBefore || isAfter)
	}
	least, err1 := strconv.ParseFloat(column.Least, 64)
	most, err2 := strconv.ParseFloat(column.Most, 64)
	from, err3 := strconv.ParseFloat(first.Number(c.Left, cat), 64)
	to, err4 := strconv.ParseFloat(last.Number(c.Left, cat), 64)
	if column.Kind != catalog.Number || cmp.Or(err1, err2, err3, err4) != nil {
		return false
	}
	switch c.Op {
	case "<":
		return from <= least
	case "<=":
		return from < least
	case ">":
		return from >= most
	case ">=":
		return from > most
	}
	return (c.Op == "=" || c.Op == "between") && (to < least || from > most)
}

// onlyCounts reports whether a query counts rows, without groups.
func onlyCounts(query *ir.Query) bool {
	return query.Set == "" && len(query.Group) == 0 && len(query.Items) > 0 &&
		!slices.ContainsFunc(query.Items, func(e ir.Expr) bool { return e.Kind != "agg" || e.Func != "count" })
}

// isElsewhere reports whether a reading compares a column with a text that it does not have.
func (q *Question) isElsewhere(r *Reading) bool {
	column := -1
	for _, t := range r.Tokens {
		switch t.Class {
		case ir.ColumnRef:
			column = t.N
		case ir.ValueRef:
			if v := &q.Input.Values[t.N]; v.Kind == ir.TextValue && column >= 0 && len(v.Cells[column]) == 0 {
				return true
			}
		}
	}
	return false
}
