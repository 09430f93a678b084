package ir

import (
	"errors"
	"fmt"
	"slices"

	"parley/llm/reader/catalog"
)

// class is the type class of an expression for comparisons and arithmetic in DuckDB.
type class uint8

const (
	number class = iota
	text
	date
	boolean
	clock
	nested
)

// kindClass returns the class of a column after conversion of its texts.
func kindClass(c *catalog.Column) class {
	switch c.Kind {
	case catalog.Number, catalog.Clock:
		return number
	case catalog.Date:
		return date
	case catalog.Bool:
		return boolean
	case catalog.Other:
		return nested
	}
	return text
}

// classOf returns the class of an expression; for measured see expr.
func (p *printer) classOf(e Expr, measured bool) class {
	switch {
	case e.Kind == "column" && e.Op == "" && !measured:
		c := &p.cat.Columns[e.Column]
		switch {
		case !c.Native:
			return text
		case c.Kind == catalog.Clock:
			return clock
		}
		return kindClass(c)
	case e.Outer == "" && e.Sub != nil && (e.Kind == "query" || e.Func == "min" || e.Func == "max") && len(e.Sub.Items) == 1:
		return p.classOf(e.Sub.Items[0], true)
	case e.Kind == "column" && e.Op == "", e.Kind == "agg" && e.Column >= 0 && e.Outer == "" && e.Inner == "" && e.Op == "" && (e.Func == "min" || e.Func == "max"):
		return kindClass(&p.cat.Columns[e.Column])
	case e.Kind == "part":
		switch e.Func {
		case "quarter", "month", "week", "day":
			return date
		case "monthof", "weekday":
			return text
		}
	}
	return number
}

// check returns an error for a query that is meaningless or that DuckDB would refuse.
func (p *printer) check(q *Query) error {
	if err := checkGroups(q); err != nil {
		return err
	}
	exprs := slices.Concat(q.Items, q.Group)
	for _, s := range q.Order {
		exprs = append(exprs, s.By)
	}
	for _, c := range slices.Concat(q.Where, q.Having) {
		if err := p.checkCond(c); err != nil {
			return err
		}
	}
	for _, e := range exprs {
		if err := p.checkExpr(e); err != nil {
			return err
		}
	}
	return p.checkSet(q)
}

// checkGroups checks what a query has besides aggregates and groups.
func checkGroups(q *Query) error {
	if !hasAggregates(q) && len(q.Group) == 0 {
		return nil
	}
	keyed := len(q.Group) > 0
	for _, e := range q.Items {
		if e.Kind == "*" || e.Kind == "rowid" {
			return errors.New("rows beside an aggregate")
		}
		keyed = keyed || !isAggregate(e)
	}
	for _, s := range q.Order {
		if s.By.Kind == "rowid" || !isAggregate(s.By) && !keyed {
			return errors.New("an order of rows that an aggregate makes one of")
		}
	}
	if q.Each != nil && !slices.ContainsFunc(slices.Concat(q.Group, q.Items), func(e Expr) bool { return sameKey(e, *q.Each) }) {
		return errors.New("the best of each of what rows are not grouped by")
	}
	for _, c := range q.Having {
		if c.Column >= 0 {
			return errors.New("an aggregate compared with a column")
		}
		if c.Left.Kind == "share" {
			return errors.New("a condition on the share of all groups")
		}
	}
	return nil
}

// sameKey reports whether two expressions are the same column or part of a date.
func sameKey(a, b Expr) bool { return sameExpr(a, b) && !isAggregate(a) && !isScalar(a) }

// checkExpr checks the types of an expression.
func (p *printer) checkExpr(e Expr) error {
	for _, o := range e.operands() {
		for _, c := range []int{e.Column, o.Column} {
			if k := kindClass(&p.cat.Columns[c]); k != number && k != boolean {
				return fmt.Errorf("%s of a column without numbers", o.Op)
			}
		}
	}
	if e.Sub != nil {
		if e.Kind != "agg" && e.Kind != "query" || e.Kind == "agg" && len(e.Conds) > 0 {
			return errors.New("a part of the rows of a query")
		}
		if len(e.Sub.Items) != 1 && e.Func != "count" || e.Sub.Items[0].Kind == "*" {
			return errors.New("a query of several columns where one is wanted")
		}
		if (e.Func == "sum" || e.Func == "avg" || e.Func == "median") && p.classOf(e.Sub.Items[0], true) != number {
			return fmt.Errorf("%s of a query without numbers", e.Func)
		}
	}
	if p.betweenDates(e) {
		return nil
	}
	computed := e.Outer != "" || e.Kind == "pctof" || e.Kind == "share" || e.Kind == "ratio" || e.Kind == "diff" || e.Kind == "growth"
	for at := &e; computed && at != nil; at = at.Second {
		one := *at
		one.Outer = ""
		if one.Kind != "query" {
			one.Kind = "agg"
		}
		if p.classOf(one, true) != number {
			return errors.New("a figure of what is no number")
		}
	}
	for _, c := range slices.Concat(e.Conds, e.Versus) {
		if err := p.checkCond(c); err != nil {
			return err
		}
	}
	if e.Second != nil {
		return p.checkExpr(*e.Second)
	}
	return nil
}

// checkCond checks the types of a condition.
func (p *printer) checkCond(c Cond) error {
	if err := p.checkExpr(c.Left); err != nil {
		return err
	}
	left := p.classOf(c.Left, true)
	if c.Right != nil {
		if err := p.checkExpr(*c.Right); err != nil {
			return err
		}
	}
	switch {
	case c.Right != nil && left != p.classOf(*c.Right, true):
		return errors.New("a comparison of different types")
	case c.Sub != nil && (len(c.Sub.Items) != 1 || c.Sub.Items[0].Kind == "*"):
		return errors.New("a query of several columns where one is wanted")
	case c.Sub != nil && (c.Op == "in" || c.Op == "notin"):
		if raw := p.classOf(c.Left, false); raw == nested || raw != p.classOf(c.Sub.Items[0], false) {
			return errors.New("a search among values of another type")
		}
	case c.Sub != nil && (left == nested || left != p.classOf(c.Sub.Items[0], true)),
		c.Column >= 0 && (left == nested || left != kindClass(&p.cat.Columns[c.Column])):
		return errors.New("a comparison of different types")
	}
	return nil
}

// checkSet checks the two sides of a set operation.
func (p *printer) checkSet(q *Query) error {
	if q.Set == "" {
		return nil
	}
	if len(q.Items) != len(q.Right.Items) {
		return fmt.Errorf("%s of different columns", q.Set)
	}
	for i, e := range q.Items {
		other := q.Right.Items[i]
		if e.Kind == "*" || other.Kind == "*" || p.classOf(e, false) == nested || p.classOf(e, false) != p.classOf(other, false) {
			return fmt.Errorf("%s of columns of different types", q.Set)
		}
	}
	// An order at the end applies to all rows.
	for _, s := range q.Right.Order {
		if !slices.ContainsFunc(q.Items, func(e Expr) bool { return sameKey(e, s.By) && e.Kind == "column" && e.Op == "" }) {
			return errors.New("an order by what is not shown")
		}
	}
	return nil
}
