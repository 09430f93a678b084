package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/llm"
)

// Limits of trying queries out before they are given.
const (
	// checkedRows is the most rows of the tables of a query that is tried out.
	checkedRows = 20_000
	maxTries    = 8
)

// check tries a reading out, where that is cheap, and sees whether what it gives
// looks like an answer. One that gives nothing is read in other ways.
func (r *Rules) check(ctx context.Context, data llm.Data, rd *reader, x reading) (reading, error) {
	rows := int64(0)
	for _, t := range rd.q.tablesOf() {
		rows += t.rows
	}
	if data == nil || rows > checkedRows {
		return x, nil
	}
	got, err := data.Query(ctx, x.sql)
	switch {
	case errors.Is(err, llm.ErrBadQuery):
		// What fails here fails later too.
		x.confidence *= 0.2
		return x, nil
	case err != nil:
		return x, fmt.Errorf("try a query out: %w", err)
	}
	if !empty(got) || rd.mayBeNone || rd.least(got) {
		x.confidence *= rd.shape(got)
		return x, nil
	}
	if rd.raw != "" {
		x.confidence *= 0.3
		return x, nil
	}
	for n, q := range rd.others() {
		if n == maxTries {
			break
		}
		text, ok := (&builder{joins: rd.joins}).sql(q.query)
		if !ok || text == x.sql {
			continue
		}
		got, err := data.Query(ctx, text)
		if err != nil && !errors.Is(err, llm.ErrBadQuery) {
			return x, fmt.Errorf("try a query out: %w", err)
		}
		if err == nil && !empty(got) {
			x.sql = text
			x.confidence *= q.trust * rd.shape(got)
			x.reasoning += " " + q.note
			return x, nil
		}
	}
	if !rd.q.acceptsEmptyResult() {
		x.confidence *= 0.6
	}
	return x, nil
}

// acceptsEmptyResult reports whether an empty result is a reliable answer: the query
// is simple, and its conditions name columns and values exactly.
func (q *query) acceptsEmptyResult() bool {
	counts := len(q.items) == 1 && q.items[0].agg == "count" && len(q.groups) == 0
	if len(q.having) > 0 || len(q.absent) > 0 || q.both || q.position != nil || !counts && len(q.tablesOf()) > 2 {
		return false
	}
	return !slices.ContainsFunc(q.conds, func(c cond) bool {
		switch c.op {
		case "in":
			return !c.exact
		case "<", "<=", ">", ">=", "between":
			return c.column.kind == kindText
		case "=":
			return c.column.kind != kindDate // a number may be meant otherwise
		}
		return c.op != "year" && c.op != "sql"
	})
}

// least reports whether the one figure that was asked for is the least or greatest
// of some, which may be zero.
func (r *reader) least(rows llm.Rows) bool {
	return !r.solo() && len(r.q.items) == 1 && wordIs(r.q.items[0].agg, "min", "max") && len(rows.Rows) == 1 && !strings.Contains(string(rows.Rows[0]), "null")
}

// empty reports whether a result says nothing: no rows, no value, or none
// counted.
func empty(rows llm.Rows) bool {
	if len(rows.Rows) == 0 {
		return true
	}
	if len(rows.Rows) > 1 {
		return false
	}
	var row map[string]json.RawMessage
	if json.Unmarshal(rows.Rows[0], &row) != nil {
		return false
	}
	for _, v := range row {
		if text := string(v); text != "null" && text != "0" && text != `""` && text != "false" {
			return false
		}
	}
	return true
}

// shape says how much a result looks like what was asked for, from 0 to 1.
func (r *reader) shape(rows llm.Rows) float64 {
	fit := 1.0
	distinct := map[string]bool{}
	for _, row := range rows.Rows {
		distinct[string(row)] = true
	}
	several := len(distinct) > 1
	switch {
	case r.find("how many|much") >= 0 && len(r.q.groups) == 0 && r.q.groupTable == nil && several:
		fit *= 0.6
	case several && r.asksForOne() && !r.solo():
		fit *= 0.93 // people ask for "the name" of many
	case several && r.asksForOne():
		fit *= 0.75
		if len(distinct) > 5 {
			fit *= 0.8
		}
	}
	if r.solo() && len(r.q.conds) == 0 && len(r.q.orders) == 0 && !r.q.aggregated() && r.raw == "" && r.q.position == nil && len(rows.Rows) > 1 {
		fit *= 0.7
	}
	return fit
}

// asksForOne reports whether the question speaks of one thing: "which dog", "what
// is the name".
func (r *reader) asksForOne() bool {
	if r.find("each|every|per|all") >= 0 {
		return false
	}
	for i, t := range r.tokens {
		if !wordIs(t.lower, "which", "what", "who") {
			continue
		}
		switch w := r.lower(i + 1); {
		case wordIs(w, "is", "was", "has", "did"):
			// "What is the name and …" may be of many, but seldom is.
			return true
		case wordIs(w, "are", "were", "have", "of", "the"):
			return false
		case t.lower == "who":
			return true
		default:
			return i+1 < len(r.tokens) && r.tokens[i+1].lemma == w && !r.tokens[i+1].mark
		}
	}
	return false
}

// another is another way to read a question.
type another struct {
	query *query
	trust float64
	note  string
}

// others are readings that apply a condition to another column. None omits a
// condition: if no row meets the conditions, the answer is empty.
func (r *reader) others() []another {
	var all []another
	for i, c := range r.q.conds {
		if c.link == nil || c.op != "in" {
			continue
		}
		for _, m := range c.link.values {
			if m.column == c.column {
				continue
			}
			q := r.q.clone()
			q.conds[i].column, q.conds[i].texts = m.column, m.texts()
			all = append(all, another{q, 0.85, "Nothing has that " + c.column.name + "; read as " + m.column.name + "."})
		}
	}
	return all
}

func (q *query) clone() *query {
	c := *q
	c.conds = slices.Clone(q.conds)
	return &c
}

// saysAll joins texts for a note.
func saysAll(texts []string) string { return strings.Join(first(texts, 3), " or ") }

// again are the other readings of a question whose first one failed.
func (r *reader) again(x reading) []reading {
	var all []reading
	if r.raw != "" {
		return nil
	}
	for _, o := range r.others() {
		if text, ok := (&builder{joins: r.joins}).sql(o.query); ok {
			all = append(all, reading{sql: text, reasoning: x.reasoning + " " + o.note, confidence: x.confidence * o.trust, left: x.left})
		}
	}
	return all
}
