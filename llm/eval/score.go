package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"parley/llm"
)

// Asker answers a question of a suite about a namespace.
type Asker func(ctx context.Context, namespace Namespace, question Question) (Reply, error)

// Reply is the answer to a question.
type Reply struct {
	Query      string
	Rows       llm.Rows
	Confidence float64 // 0 if it is not known
}

// Unanswered is the error of an [Asker] that cannot answer a question, and says why. Any
// other error is a failure.
type Unanswered string

func (u Unanswered) Error() string { return string(u) }

// Outcome is the result of one question, in the form of results.jsonl. It has rows or an
// error.
type Outcome struct {
	ID         string            `json:"id"`
	Namespace  string            `json:"namespace"`
	Query      string            `json:"query"`
	Rows       []json.RawMessage `json:"rows,omitzero"`
	Error      string            `json:"error,omitempty"`
	Confidence float64           `json:"confidence"`
	MS         float64           `json:"ms"`
	// The rest is for the report.
	Right    bool     `json:"-"`
	Failed   bool     `json:"-"`
	Values   [][]any  `json:"-"`
	Question Question `json:"-"`
	err      error
}

// Ask asks one question and compares the answer.
func Ask(ctx context.Context, ask Asker, space Namespace, q Question) Outcome {
	start := time.Now()
	reply, err := ask(ctx, space, q)
	out := Outcome{ID: q.ID, Namespace: space.Name, Query: reply.Query, Confidence: reply.Confidence, Question: q,
		MS: float64(time.Since(start).Microseconds()) / 1000}
	if err == nil {
		out.Values, err = Values(reply.Rows)
	}
	if err != nil {
		var unanswered Unanswered
		out.Error, out.Failed, out.err = cmp.Or(err.Error(), "no reason given"), !errors.As(err, &unanswered), err
		return out
	}
	out.Rows = append([]json.RawMessage{}, reply.Rows.Rows...)
	out.Right = q.Matches(out.Values)
	return out
}

// Count has the numbers of questions asked, answered, and answered right.
type Count struct {
	Asked, Answered, Right int
}

// Accuracy is the share of right answers.
func (c Count) Accuracy() float64 { return share(c.Right, c.Asked) }

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Score counts outcomes, in all and by tag.
type Score struct {
	All Count
	// sure leaves out answers that are only likely.
	sure Count
	tags map[string]Count
	// pairs has the pairs of tags, as "a+b".
	pairs map[string]Count
}

func (s *Score) add(o Outcome) {
	if s.tags == nil {
		s.tags, s.pairs = map[string]Count{}, map[string]Count{}
	}
	s.All = s.All.with(o)
	if o.Confidence > 0 && o.Confidence < llm.SureConfidence {
		s.sure.Asked++
	} else {
		s.sure = s.sure.with(o)
	}
	tags := slices.Sorted(slices.Values(o.Question.Tags))
	for i, a := range tags {
		s.tags[a] = s.tags[a].with(o)
		for _, b := range tags[i+1:] {
			s.pairs[a+"+"+b] = s.pairs[a+"+"+b].with(o)
		}
	}
}

func (c Count) with(o Outcome) Count {
	c.Asked++
	if o.Error == "" {
		c.Answered++
	}
	if o.Right {
		c.Right++
	}
	return c
}

// print writes a table: all, each tag, and the given pairs.
func (s *Score) print(w io.Writer, pairs []string) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tasked\taccuracy\tcoverage\tprecision\t")
	line := func(name string, c Count) {
		fmt.Fprintf(out, "%s\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t\n", name, c.Asked,
			100*c.Accuracy(), 100*share(c.Answered, c.Asked), 100*share(c.Right, c.Answered))
	}
	line("all", s.All)
	if s.sure != s.All {
		line("sure", s.sure)
	}
	for _, tag := range slices.Sorted(maps.Keys(s.tags)) {
		line(tag, s.tags[tag])
	}
	for _, pair := range pairs {
		line(pair, s.pairs[pair])
	}
	return out.Flush()
}
