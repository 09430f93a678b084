// Package rank chooses among the candidate queries of the network: it runs them, drops
// those that fail, adds up the probabilities of those with the same result, compares each
// with the words of the question, and computes the confidence of the best one. Its caller
// runs the queries and decides what to do without confidence.
package rank

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
)

// Question is a question with its catalog.
type Question struct {
	Tokens  []link.Token
	Input   *link.Input
	Catalog *catalog.Catalog
	Now     time.Time
	// Answerable is the network's probability that the data has an answer.
	Answerable float64
}

// Result has the properties of a query's result that distinguish queries.
type Result struct {
	// Key is equal for equal rows.
	Key string
	// Rows is the number of rows; Repeated says that some are equal.
	Rows     int
	Repeated bool
	// Empty says that there are no rows, or only NULL, or that all that is counted is none.
	Empty bool
	// zero says that there is one row, with 0 and NULL only.
	zero bool
}

// Run runs a query. It returns false for an invalid query.
type Run func(sql string) (Result, bool, error)

// Reading is a query as an interpretation of a question.
type Reading struct {
	Tokens []ir.Token
	Query  *ir.Query
	SQL    string
	// Measure is the column that SQL shows besides those of the query; "" for none.
	Measure string
	// Probability is the sum of the network's probabilities of all queries with the same
	// result.
	Probability float64
	// Share is the probability of this reading among all readings of the question, and
	// Confidence the probability that it is right.
	Share, Confidence float64
	// Unread are the words of the question that the query does not reflect, and Extra those
	// that only resemble what other words name already.
	Unread, Extra []string
	// Unreadable is a column of which the question asks for a figure and whose texts have
	// none, or which the query compares and that cannot be converted; -1 for none.
	Unreadable int
	Result
	// Whole says that it shows all columns, since the question names none.
	Whole bool
	// Share and Confidence are computed from Features and Circumstances.
	Features, Circumstances Features
	// guessed says that nothing in the query stands for what should be computed, and uncounted
	// the same of what should be counted.
	guessed, uncounted bool
}

// Unused returns the words of the question that the query does not use.
func (r *Reading) Unused() []string { return slices.Concat(r.Unread, r.Extra) }

// Readings runs the candidates, merges those with the same result, and sorts them by share.
func Readings(question Question, candidates []net.Candidate, run Run) ([]Reading, error) {
	all, err := pool(&question, candidates, run)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	score(&question, all)
	if IsSure(all[0].Confidence) && !question.showsKey(&all[0]) {
		return all, nil
	}
	merged, err := withWholeRows(&question, all, run)
	if err != nil {
		return nil, err
	}
	isWhole := len(merged) > 0 && merged[0].Whole
	if isWhole && IsSure(merged[0].Confidence) {
		return merged, nil
	}
	for _, readings := range [][]Reading{merged, all} {
		if none := withoutRows(&question, readings); none != nil {
			return none, nil
		}
	}
	if isWhole && Alternative(all, question.Catalog) == 0 {
		return merged, nil
	}
	return all, nil
}

// score computes features, shares and confidence of readings, and sorts them by share.
func score(question *Question, all []Reading) {
	for i := range all {
		r := &all[i]
		if r.Unreadable = question.unreadable(r); r.Unreadable >= 0 {
			r.Empty = false // what is compared wrongly says nothing
		}
		c := computeCoverage(question, r.Tokens)
		r.Unread, r.Extra = question.texts(c.unread), question.texts(c.extra)
		r.guessed, r.uncounted = c.guessed, c.uncounted
		r.Features, r.Circumstances = featuresOf(r, c), circumstances(question, r)
	}
	rate(question, all)
}

// rate computes shares and confidence of readings from their features, and sorts them by share.
func rate(question *Question, all []Reading) {
	setShares(all)
	slices.SortStableFunc(all, func(a, b Reading) int { return cmp.Compare(b.Share, a.Share) })
	setConfidence(question, all)
}

// texts returns the words of a question with these numbers.
func (q *Question) texts(words []int) []string {
	var all []string
	for _, i := range words {
		all = append(all, q.Tokens[i].Text)
	}
	return all
}

// parseCandidates parses the candidates and adds a query for each join path that one may
// mean.
func parseCandidates(question *Question, candidates []net.Candidate) []pathQuery {
	var all []pathQuery
	values := question.Input.IRValues()
	asked := question.askedColumn()
	for _, c := range candidates {
		c.Tokens = question.withZero(question.withAge(question.withAskedColumn(c.Tokens, asked)))
		q, err := ir.Parse(c.Tokens, values)
		if err != nil || question.cutsDecade(c.Tokens) || question.countsUnasked(c.Tokens) || degenerate(q) || meaningless(q, question.Catalog) || comparesBirth(q, question.Catalog) || contradicts(q, question.Catalog) {
			continue
		}
		q.SetDurationUnit(question.durationUnit())
		all = append(all, question.joinPaths(pathQuery{tokens: c.Tokens, query: q, probability: math.Exp(c.Score)})...)
	}
	return all
}

// pool runs candidates and adds up the probabilities of those with the same result. Those that
// differ only in the order of columns run once: that they are the same must not depend on a result,
// which a large dataset does not have.
func pool(question *Question, candidates []net.Candidate, run Run) ([]Reading, error) {
	var all []Reading
	byKey, bySQL := map[string]int{}, map[string]int{}
	for _, m := range parseCandidates(question, candidates) {
		sql, err := ir.SQL(m.query, question.Catalog, question.Now)
		if err != nil {
			continue
		}
		ordered, _ := ir.SQL(withOrderedItems(m.query), question.Catalog, question.Now)
		ordered = cmp.Or(ordered, sql)
		if at, ok := bySQL[ordered]; ok {
			all[at].Probability += m.probability
			continue
		}
		result, ok, err := run(sql)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		result.Empty = result.Empty || result.zero && onlyCounts(m.query)
		if at, ok := byKey[result.Key]; ok && !result.Empty && !m.ambiguous {
			all[at].Probability += m.probability
			bySQL[ordered] = at
			continue
		}
		bySQL[ordered] = len(all)
		if !result.Empty {
			byKey[result.Key] = len(all)
		}
		all = append(all, Reading{Tokens: m.tokens, Query: m.query, SQL: sql, Probability: m.probability, Result: result})
	}
	return all, nil
}

// withOrderedItems returns a query that is equal for queries that differ only in the order of their
// columns.
func withOrderedItems(q *ir.Query) *ir.Query {
	// A set operation compares columns by position, and without an order the first aggregate
	// selects the first rows.
	if q.Set != "" || q.Limit > 0 && len(q.Order) == 0 {
		return q
	}
	ordered := *q
	ordered.Items = slices.SortedStableFunc(slices.Values(q.Items), func(a, b ir.Expr) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Other, b.Other))
	})
	return &ordered
}

// degenerate reports whether a query makes no sense: it compares a column with itself, or
// has something twice.
func degenerate(q *ir.Query) bool {
	for i, e := range q.Items {
		if comparesItself(e) {
			return true
		}
		for _, before := range q.Items[:i] {
			if before.Second == nil && e.Second == nil && sameExpr(before, e) {
				return true
			}
		}
	}
	if repeats(q.Where) || subsumes(q.Where) || slices.ContainsFunc(q.Where, isTrivialCond) || slices.ContainsFunc(q.Having, isTrivialCond) || slices.ContainsFunc(q.Order, func(s ir.Sort) bool { return comparesItself(s.By) }) {
		return true
	}
	if q.Right == nil {
		return false
	}
	left := *q
	left.Set, left.Right = "", nil
	return degenerate(q.Right) || reflect.DeepEqual(&left, q.Right)
}

// repeats reports whether a condition occurs twice.
func repeats(conds []ir.Cond) bool {
	for i, c := range conds {
		c.Or = false
		if slices.ContainsFunc(conds[:i], func(before ir.Cond) bool { before.Or = false; return reflect.DeepEqual(before, c) }) {
			return true
		}
	}
	return false
}

// subsumes reports whether one of two alternatives includes the other: from 2001 on, or in
// 2003.
func subsumes(conds []ir.Cond) bool {
	for i, c := range conds {
		if i == 0 || !c.Or || !sameExpr(conds[i-1].Left, c.Left) {
			continue
		}
		if includes(conds[i-1], c) || includes(c, conds[i-1]) {
			return true
		}
	}
	return false
}

// includes reports whether all numbers that equal the value of b are in the range of a.
func includes(a, b ir.Cond) bool {
	if b.Op != "=" || len(a.Values) != 1 || len(b.Values) != 1 || a.Values[0].Unit != b.Values[0].Unit {
		return false
	}
	limit, err := strconv.ParseFloat(a.Values[0].Text, 64)
	if err != nil {
		return false
	}
	x, err := strconv.ParseFloat(b.Values[0].Text, 64)
	if err != nil {
		return false
	}
	switch a.Op {
	case ">":
		return x > limit
	case ">=":
		return x >= limit
	case "<":
		return x < limit
	case "<=":
		return x <= limit
	}
	return false
}

// meaningless reports whether a query adds up identifiers, or counts the distinct values of
// a boolean column.
func meaningless(q *ir.Query, cat *catalog.Catalog) bool {
	figure := func(e ir.Expr) bool {
		if e.Kind != "agg" || e.Star || e.Op != "" || e.Inner != "" || e.Column < 0 {
			return false
		}
		c := &cat.Columns[e.Column]
		identifies := cat.IsReference(e.Column) || c.Words[len(c.Words)-1] == "id"
		return (e.Func == "sum" || e.Func == "avg") && identifies || e.Func == "count" && e.Distinct && c.IsBoolean()
	}
	return slices.ContainsFunc(q.Items, figure) || slices.ContainsFunc(q.Order, func(s ir.Sort) bool { return figure(s.By) }) ||
		slices.ContainsFunc(q.Having, func(c ir.Cond) bool { return figure(c.Left) })
}

// comparesItself reports whether an expression compares a column with itself.
func comparesItself(e ir.Expr) bool {
	return (e.Op != "" || e.Kind == "days" || e.Inner == "days") && e.Column == e.Other || slices.ContainsFunc(e.Conds, isTrivialCond) ||
		len(e.Conds) > 0 && reflect.DeepEqual(e.Conds, e.Versus) || slices.ContainsFunc(e.Versus, isTrivialCond) || e.Second != nil && sameExpr(e, *e.Second)
}

func isTrivialCond(c ir.Cond) bool {
	switch {
	case comparesItself(c.Left), c.Sub != nil && degenerate(c.Sub):
		return true
	case c.Op == "between" && len(c.Values) == 2:
		return c.Values[0].Text == c.Values[1].Text
	}
	return len(c.Values) == 0 && c.Sub == nil && c.Left.Kind == "column" && c.Column >= 0 && c.Left.Column == c.Column
}

// sameExpr compares expressions without their conditions and second parts; those that
// have conditions differ.
func sameExpr(a, b ir.Expr) bool {
	return len(a.Conds)+len(b.Conds) == 0 && a.Sub == nil && b.Sub == nil && slices.Equal(a.Then, b.Then) && a.Kind == b.Kind && a.Func == b.Func && a.Distinct == b.Distinct && a.Star == b.Star && a.Column == b.Column &&
		a.Other == b.Other && a.Op == b.Op && a.Inner == b.Inner
}

// contradicts reports whether a query of one table requires two values of one column at
// once. With several tables, different rows may have them.
func contradicts(q *ir.Query, cat *catalog.Catalog) bool {
	tables, _, err := ir.Tables(q, cat)
	if err != nil || len(tables) > 1 || slices.ContainsFunc(q.Where, func(c ir.Cond) bool { return c.Or }) {
		return false
	}
	for i, c := range q.Where {
		for _, before := range q.Where[:i] {
			if c.Op == "=" && before.Op == "=" && len(c.Values) == 1 && len(before.Values) == 1 && sameExpr(c.Left, before.Left) && disjoint(c.Values[0], before.Values[0]) {
				return true
			}
		}
	}
	return false
}

// disjoint reports whether no cell can match both values.
func disjoint(a, b ir.Value) bool {
	if a.Kind == ir.PeriodValue && b.Kind == ir.PeriodValue {
		return a.To <= b.From || b.To <= a.From
	}
	return a.Kind == b.Kind && a.Text != b.Text
}
