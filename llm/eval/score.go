package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"parley/llm"
)

// Asker answers the questions of a suite.
type Asker interface {
	// Ask answers a question about a namespace. An error means that there is no
	// answer.
	Ask(ctx context.Context, namespace Namespace, question Question) (Reply, error)
}

// Reply is what was answered.
type Reply struct {
	Query      string
	Rows       llm.Rows
	Confidence float64
}

// Unanswered is the error for a question that whoever was asked says it cannot
// answer. Any other error is a failure.
type Unanswered string

func (u Unanswered) Error() string { return string(u) }

// Outcome is how one question went, in the form of results.jsonl: it has rows, or
// an error.
type Outcome struct {
	ID         string            `json:"id"`
	Namespace  string            `json:"namespace"`
	Query      string            `json:"query"`
	Rows       []json.RawMessage `json:"rows,omitzero"`
	Error      string            `json:"error,omitempty"`
	Confidence float64           `json:"confidence"`
	MS         float64           `json:"ms"`
	// The rest is for whoever reads the failures.
	Right    bool     `json:"-"`
	Failed   bool     `json:"-"`
	Values   [][]any  `json:"-"`
	Question Question `json:"-"`
}

// Ask puts one question to an asker and judges the answer.
func Ask(ctx context.Context, asker Asker, space Namespace, q Question) Outcome {
	outcome, _ := ask(ctx, asker, space, q)
	return outcome
}

// ask is Ask with the error that the outcome holds in words.
func ask(ctx context.Context, asker Asker, space Namespace, q Question) (Outcome, error) {
	start := time.Now()
	reply, err := asker.Ask(ctx, space, q)
	out := Outcome{ID: q.ID, Namespace: space.Name, Query: reply.Query, Confidence: reply.Confidence, Question: q,
		MS: float64(time.Since(start).Microseconds()) / 1000}
	if err == nil {
		out.Values, err = Values(reply.Rows)
	}
	if err != nil {
		var unanswered Unanswered
		out.Error, out.Failed = cmp.Or(err.Error(), "no reason given"), !errors.As(err, &unanswered)
		return out, err
	}
	out.Rows = append([]json.RawMessage{}, reply.Rows.Rows...)
	out.Right = q.Matches(out.Values)
	return out, nil
}

// Count is how many questions were asked, answered, and answered right.
type Count struct {
	Asked, Answered, Right int
}

// Accuracy is the share of all that is right.
func (c Count) Accuracy() float64 { return share(c.Right, c.Asked) }

// Coverage is the share of all that was answered.
func (c Count) Coverage() float64 { return share(c.Answered, c.Asked) }

// Precision is the share of the answered that is right.
func (c Count) Precision() float64 { return share(c.Right, c.Answered) }

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Score counts outcomes, in all and by tag.
type Score struct {
	All  Count
	Tags map[string]Count
	// Pairs counts pairs of tags, as "a+b".
	Pairs map[string]Count
}

// Add counts an outcome.
func (s *Score) Add(o Outcome) {
	if s.Tags == nil {
		s.Tags, s.Pairs = map[string]Count{}, map[string]Count{}
	}
	s.All = s.All.with(o)
	tags := slices.Sorted(slices.Values(o.Question.Tags))
	for i, a := range tags {
		s.Tags[a] = s.Tags[a].with(o)
		for _, b := range tags[i+1:] {
			s.Pairs[a+"+"+b] = s.Pairs[a+"+"+b].with(o)
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

// Print writes a table of the score: all, each tag, and the pairs named.
func (s *Score) Print(w io.Writer, pairs ...string) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tasked\taccuracy\tcoverage\tprecision\t")
	line := func(name string, c Count) {
		fmt.Fprintf(out, "%s\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t\n", name, c.Asked, 100*c.Accuracy(), 100*c.Coverage(), 100*c.Precision())
	}
	line("all", s.All)
	names := make([]string, 0, len(s.Tags))
	for tag := range s.Tags {
		names = append(names, tag)
	}
	slices.Sort(names)
	for _, tag := range names {
		line(tag, s.Tags[tag])
	}
	for _, pair := range pairs {
		line(pair, s.Pairs[pair])
	}
	return out.Flush()
}
