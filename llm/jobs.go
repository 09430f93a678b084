package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Jobs is what agents have done by somebody who understands language: a chat
// model, or llm/reader. Inputs and outputs are plain values; no agent
// sees a prompt. Every job ends with its context.
type Jobs interface {
	// Plan says in which steps a question is to be answered: one to [MaxSteps].
	Plan(ctx context.Context, task Task) (Plan, error)
	// WriteQuery says how one step is to be looked up. Where task.Failed holds
	// earlier tries, it is to write one that does not fail so.
	WriteQuery(ctx context.Context, task QueryTask) (Query, error)
	// Answer puts what the steps gave into words, in Markdown.
	Answer(ctx context.Context, task AnswerTask) (Answer, error)
}

// MaxSteps is the most steps of a plan.
const MaxSteps = 5

// ErrUnavailable says that nobody could be reached who does the job. Its text is
// fit for whoever asked.
var ErrUnavailable = errors.New("the language model cannot be reached")

// UnanswerableError says that the data does not hold what was asked for. It is an
// answer, not a failure.
type UnanswerableError struct {
	// Reason says, for whoever asked, what was not understood or is not there.
	Reason string
}

func (e *UnanswerableError) Error() string { return e.Reason }

// Unanswerable makes an [UnanswerableError].
func Unanswerable(format string, args ...any) error {
	return &UnanswerableError{Reason: fmt.Sprintf(format, args...)}
}

// Task is a question and what it is about.
type Task struct {
	Question string
	// Hints are the asker's own, for guidance.
	Hints string
	// Earlier are the turns of the same conversation, oldest first.
	Earlier []Turn
	// Datasets are those that the asker may read.
	Datasets []Dataset
	// Data reads them.
	Data Data
	// Now is the time of asking.
	Now time.Time
}

// Turn is a question that was answered before in the same conversation.
type Turn struct {
	Question string
	Answer   string
	// Queries are what was looked up for it.
	Queries []string
}

// Dataset is a table that may be queried under its name.
type Dataset struct {
	Name string
	// Version changes when the rows or columns do: what was learnt of a version
	// may be kept.
	Version     string
	Description string
	Rows        int64
	Columns     []Column
}

// Column is a column of a [Dataset].
type Column struct {
	Name string
	// Type is DuckDB's name of it.
	Type        string
	Description string
}

// HoldsPassages reports whether a dataset is text in passages, which can be
// searched: [Search].
func (d Dataset) HoldsPassages() bool {
	found := 0
	for _, c := range d.Columns {
		switch c.Name {
		case "document", "passage", "text":
			found++
		}
	}
	return found == 3
}

// ErrBadQuery says that a query is wrong, and will be wrong when it is run again.
var ErrBadQuery = errors.New("the query is not valid")

// Data reads datasets, as far as the asker may.
type Data interface {
	// Query runs one SELECT in DuckDB's SQL. Results are bounded. A query that is
	// wrong is an ErrBadQuery; any other error says nothing about it.
	Query(ctx context.Context, sql string) (Rows, error)
}

// Rows is what a query or a search gave.
type Rows struct {
	// Columns are the names, in order.
	Columns []string
	// Rows are JSON objects; keys that start with __ are internal.
	Rows []json.RawMessage
	// Truncated says that there were more.
	Truncated bool
}

// Plan is the steps in which a question is to be answered.
type Plan struct {
	// Steps are instructions, each to be looked up with one query. Later ones may
	// speak of what earlier ones gave.
	Steps     []string
	Reasoning string
	Usage     Usage
}

// QueryTask is one step to be looked up.
type QueryTask struct {
	Task
	// Instruction is the step; the question itself where there is no plan.
	Instruction string
	// Before are the steps that were looked up already.
	Before []Step
	// Failed are the tries at this one that failed.
	Failed []FailedQuery
}

// FailedQuery is a query and why it was refused or failed.
type FailedQuery struct {
	SQL    string
	Reason string
}

// Step is a step that was looked up.
type Step struct {
	Instruction string
	// Query is what was run.
	Query     string
	Reasoning string
	Rows      Rows
	// Failure says why the step could not be looked up; "" when it was.
	Failure string
}

// Query is how a step is to be looked up: by SQL, or by a search.
type Query struct {
	SQL    string
	Search *Search
	// Reasoning says how the question was read.
	Reasoning string
	// Confidence is from 0 to 1.
	Confidence float64
	Usage      Usage
}

// Search looks for the passages of a dataset that match some words best.
type Search struct {
	Dataset string
	Words   string
	Limit   int
}

// AnswerTask is steps to be put into words.
type AnswerTask struct {
	Task
	Steps []Step
}

// Answer is an answer in words.
type Answer struct {
	// Markdown cites the steps that it rests on as [step N], from 1.
	Markdown string
	Usage    Usage
}

// Usage counts what a model was asked and gave.
type Usage struct {
	Model        string
	InputTokens  int
	OutputTokens int
}

// Add counts more of the same model.
func (u *Usage) Add(more Usage) {
	if more.Model != "" {
		u.Model = more.Model
	}
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
}
