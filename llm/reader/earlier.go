package reader

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// maxEarlier is how many questions back a conversation is read.
const maxEarlier = 3

// turn is a question that was looked up before, and how.
type turn struct{ question, sql string }

// turnsOf gives what was looked up before a step, oldest first: in earlier turns of the
// conversation, and for earlier steps of the same question.
func turnsOf(task llm.QueryTask) []turn {
	var all []turn
	for _, t := range task.Earlier {
		steps := dialog.Steps(t.Question)
		switch {
		case len(steps) == len(t.Queries):
			for i, s := range steps {
				all = append(all, turn{s, t.Queries[i]})
			}
		case len(t.Queries) == 1:
			all = append(all, turn{t.Question, t.Queries[0]})
		}
	}
	for _, s := range task.Before {
		if s.Failure == "" {
			all = append(all, turn{s.Instruction, s.Query})
		}
	}
	return all[max(0, len(all)-maxEarlier):]
}

// earlierQuery reads the last of some turns again and gives the reading that was looked
// up; nil where none is the same. It runs no query.
func earlierQuery(turns []turn, cat *catalog.Catalog, now time.Time) (*link.EarlierQuery, error) {
	var earlier *link.EarlierQuery
	for _, t := range turns {
		found, err := readAgain(t, cat, earlier, now)
		if err == nil && found == nil && earlier != nil {
			found, err = readAgain(t, cat, nil, now)
		}
		if err != nil {
			return nil, err
		}
		earlier = found
	}
	return earlier, nil
}

// readAgain gives the reading of a turn that was looked up, nil where none is.
func readAgain(t turn, cat *catalog.Catalog, before *link.EarlierQuery, now time.Time) (*link.EarlierQuery, error) {
	w, err := write(t.question, cat, before, now)
	if err != nil || w == nil {
		return nil, err
	}
	values := w.Input.IRValues()
	var found *link.EarlierQuery
	for _, c := range w.candidates {
		q, err := ir.Parse(c.Tokens, values)
		if err != nil {
			continue
		}
		sql, err := ir.SQL(q, cat, now)
		switch {
		case err != nil:
		case sql == t.sql:
			return earlierOf(c.Tokens, w.Input), nil
		case found == nil && undated(sql) == undated(t.sql):
			found = earlierOf(c.Tokens, w.Input)
		}
	}
	return found, nil
}

// earlierOf gives a reading as part of the next question's input, with the values that it
// uses and those that its own question names.
func earlierOf(tokens []ir.Token, in *link.Input) *link.EarlierQuery {
	e := &link.EarlierQuery{Tokens: slices.Clone(tokens)}
	number := make([]int, len(in.Values))
	for i, v := range in.Values {
		number[i] = len(e.Values)
		used := slices.Contains(tokens, ir.Token{Class: ir.ValueRef, N: i})
		if used || v.How != link.Earlier {
			e.Values = append(e.Values, v)
		}
	}
	for i, t := range e.Tokens {
		if t.Class == ir.ValueRef {
			e.Tokens[i].N = number[t.N]
		}
	}
	return e
}

var dates = regexp.MustCompile(`DATE '\d{4}-\d{2}-\d{2}'`)

// undated gives a query without its dates: those of "last month" depend on the day of
// asking.
func undated(sql string) string { return dates.ReplaceAllLiteralString(strings.TrimSpace(sql), "DATE") }
