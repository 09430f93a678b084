package reader

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/dialog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// maxEarlier limits how many earlier questions of a conversation are read.
const maxEarlier = 3

// turn is an earlier question with its query.
type turn struct{ question, sql string }

// earlierTurns returns the questions and queries before a step, oldest first: those of
// earlier turns of the conversation, and those of earlier steps of the same question.
func earlierTurns(task llm.QueryTask) []turn {
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
	all = slices.DeleteFunc(all, func(t turn) bool { return !strings.HasPrefix(t.sql, "SELECT") })
	return all[max(0, len(all)-maxEarlier):]
}

func questionsOf(turns []turn) (questions []string) {
	for _, t := range turns {
		questions = append(questions, t.question)
	}
	return questions
}

// earlierQuery reads turns again in order, and returns the reading of the last one that has
// the query of that turn; nil if there is none.
func (r *Reader) earlierQuery(ctx context.Context, turns []turn, s *source) (*link.EarlierQuery, error) {
	var earlier *link.EarlierQuery
	for _, t := range turns {
		match, err := r.rereadTurn(ctx, t, s, earlier)
		if err == nil && match == nil && earlier != nil {
			match, err = r.rereadTurn(ctx, t, s, nil)
		}
		if err != nil {
			return nil, err
		}
		earlier = match
	}
	return earlier, nil
}

// rereadTurn returns the reading of a turn that has the turn's query; nil if there is none.
func (r *Reader) rereadTurn(ctx context.Context, t turn, s *source, before *link.EarlierQuery) (*link.EarlierQuery, error) {
	again, err := r.read(ctx, t.question, s, before)
	if err != nil {
		return nil, err
	}
	var match *link.EarlierQuery
	for _, x := range again.readings {
		switch {
		case x.SQL == t.sql, s.prints(x.Query, t.sql):
			return newEarlierQuery(x.Tokens, again.values), nil
		case match == nil && withoutDates(x.SQL) == withoutDates(t.sql):
			match = newEarlierQuery(x.Tokens, again.values)
		}
	}
	return match, nil
}

// newEarlierQuery converts a reading to a part of the next question's input, with the
// values that it uses and those that its question names.
func newEarlierQuery(tokens []ir.Token, values []link.ValueMatch) *link.EarlierQuery {
	e := &link.EarlierQuery{Tokens: slices.Clone(tokens)}
	number := make([]int, len(values))
	for i, v := range values {
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

var dateLiteral = regexp.MustCompile(`DATE '\d{4}-\d{2}-\d{2}'`)

// withoutDates removes the dates of a query: those of "last month" depend on the current
// day.
func withoutDates(sql string) string {
	return dateLiteral.ReplaceAllLiteralString(strings.TrimSpace(sql), "DATE")
}
