package rank

import (
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// withWholeRows replaces readings that list rows of a table and differ only in columns that
// the question does not name, by one that shows all columns: "show all paid orders". It
// returns nil if there are none.
func withWholeRows(question *Question, all []Reading, run Run) ([]Reading, error) {
	var merged []Reading
	byTokens := map[string]int{}
	for i := range all {
		tokens, ok := question.wholeRows(&all[i])
		if !ok {
			merged = append(merged, all[i])
			continue
		}
		key := ir.Text(tokens)
		if at, ok := byTokens[key]; ok {
			merged[at].Probability += all[i].Probability
			continue
		}
		r, ok, err := question.reading(tokens, run)
		if err != nil || !ok {
			return nil, err
		}
		r.Probability = all[i].Probability
		byTokens[key] = len(merged)
		merged = append(merged, r)
	}
	if len(byTokens) == 0 {
		return nil, nil
	}
	score(question, merged)
	return merged, nil
}

// wholeRows returns the tokens of a reading with all columns in place of those that it
// shows. It returns false if the reading does not list rows of one table that the question
// names, or if the question names a column that it shows.
func (q *Question) wholeRows(r *Reading) ([]ir.Token, bool) {
	tables, _, err := ir.Tables(r.Query, q.Catalog)
	if err != nil || len(tables) != 1 || len(r.Query.Group) > 0 || r.Query.Set != "" || !q.namesTable(tables[0]) {
		return nil, false
	}
	at := 1 // after select
	if r.Query.Distinct {
		at++
	}
	items := r.Tokens[at : at+min(len(r.Query.Items), len(r.Tokens)-at)]
	rest := r.Tokens[at+len(items):]
	if len(rest) > 1 && rest[0].Is("from") {
		rest = rest[2:]
	}
	for _, t := range items {
		if !t.Is("*") && (t.Class != ir.ColumnRef || q.isAskedFor(t, rest)) {
			return nil, false
		}
	}
	tokens := []ir.Token{ir.KeywordToken("select"), ir.KeywordToken("*"), ir.KeywordToken("from"), {Class: ir.TableRef, N: tables[0]}}
	tokens = append(tokens, rest...)
	return tokens, ir.Valid(tokens)
}

// showsKey reports whether a reading shows nothing but the numbers that identify the rows of a table.
func (q *Question) showsKey(r *Reading) bool {
	if len(r.Query.Items) != 1 || r.Query.Items[0].Kind != "column" || r.Query.Items[0].Op != "" {
		return false
	}
	n := r.Query.Items[0].Column
	c := &q.Catalog.Columns[n]
	return c.Kind == catalog.Number && q.Catalog.Tables[c.Table].Key == n
}

// namesTable reports whether a word names a table.
func (q *Question) namesTable(table int) bool {
	for word := range q.Input.Question {
		if q.isTableName(word, table) {
			return true
		}
	}
	return false
}

func (q *Question) isTableName(word, table int) bool {
	item := q.Input.ItemOf(ir.Token{Class: ir.TableRef, N: table})
	return item >= 0 && q.relations(word, item)&(1<<link.ExactTable|1<<link.PartTable) != 0
}

// isAskedFor reports whether the question names a column other than for the rest of the
// query: a condition or an order.
func (q *Question) isAskedFor(column ir.Token, rest []ir.Token) bool {
	if slices.Contains(rest, column) {
		return false
	}
	item := q.Input.ItemOf(column)
	for word := range q.Input.Question {
		if item >= 0 && q.relations(word, item)&(1<<link.ExactColumn|1<<link.PartColumn|similarRelations) != 0 && !q.isTableName(word, q.Catalog.Columns[column.N].Table) {
			return true
		}
	}
	return false
}

// reading runs a query that shows all columns and returns it as a reading. It returns false for an invalid query.
func (q *Question) reading(tokens []ir.Token, run Run) (Reading, bool, error) {
	query, err := ir.Parse(tokens, q.Input.IRValues())
	if err != nil {
		return Reading{}, false, nil
	}
	query.SetDurationUnit(q.durationUnit())
	sql, err := ir.SQL(query, q.Catalog, q.Now)
	if err != nil {
		return Reading{}, false, nil
	}
	result, ok, err := run(sql)
	return Reading{Tokens: tokens, Query: query, SQL: sql, Result: result, Whole: true}, ok, err
}
