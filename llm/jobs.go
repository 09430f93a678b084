package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Jobs are the tasks of agents that need language: done by a chat model, or by llm/reader.
// Inputs and outputs are plain values; agents see no prompts. Every job ends with its
// context.
type Jobs interface {
	// Plan divides a question into one to [MaxSteps] steps.
	Plan(ctx context.Context, task Task) (Plan, error)
	// WriteQuery writes the query for one step. It avoids the errors of task.Failed.
	WriteQuery(ctx context.Context, task QueryTask) (Query, error)
	// Answer writes the answer from the results of the steps, in Markdown.
	Answer(ctx context.Context, task AnswerTask) (Answer, error)
}

// MaxSteps limits the steps of a plan.
const MaxSteps = 5

// Degrees of certainty, by confidence. A reading from SureConfidence on is an answer. One from
// LikelyConfidence on is as likely right as wrong: an answer for users who can choose another.
const (
	SureConfidence   = 0.7
	LikelyConfidence = 0.4
)

// ErrUnavailable says that the model could not be called. Its text is for the user.
var ErrUnavailable = errors.New("the language model cannot be reached")

// UnanswerableError says that the data does not hold what was asked for. It is an answer,
// not a failure.
type UnanswerableError struct {
	// Reason says what was not understood or does not exist, for the user.
	Reason string
	// Words are those of the question that were not understood, and Suggestions are
	// questions that can be answered; nil when not known.
	Words, Suggestions []string
}

func (e *UnanswerableError) Error() string { return e.Reason }

// Unanswerable returns an [UnanswerableError].
func Unanswerable(format string, args ...any) error {
	return &UnanswerableError{Reason: fmt.Sprintf(format, args...)}
}

// Task is a question and its context.
type Task struct {
	Question string
	// Hints are the user's own, for guidance.
	Hints string
	// Earlier has the turns of the same conversation, oldest first.
	Earlier []Turn
	// Datasets are those that the user may read, and Data reads them. Links are between them,
	// those first that users have declared.
	Datasets []Dataset
	Links    []Link
	Data     Data
	// Units returns the units of a dataset's numbers by column, in lower case, where they are
	// known; nil if they never are.
	Units func(ctx context.Context, d Dataset) map[string]string
	Now   time.Time
	// MinConfidence is the least confidence of a query, where it is known; nil for
	// [SureConfidence].
	MinConfidence *float64
}

// Turn is an earlier question of the same conversation and its answer.
type Turn struct {
	Question, Answer string
	Queries          []string
}

// Dataset is a table that queries use by its name.
type Dataset struct {
	// DisplayName is what people call the rows; "" for the words of the name.
	Name, DisplayName, Description string
	// Version changes with the rows and columns, so that facts of a version may be cached.
	Version string
	Rows    int64
	Columns []Column
	// Parts are the datasets whose rows this one combines; nil for one that is stored.
	Parts []string
}

// Column is a column of a [Dataset].
type Column struct {
	// Type is DuckDB's name of it.
	Name, Type, Description string
}

// HoldsPassages reports whether a dataset has passages of text, for [Search].
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

// ErrBadQuery says that a query is invalid and would fail again.
var ErrBadQuery = errors.New("the query is not valid")

// Data reads datasets, with the rights of the user.
type Data interface {
	// Query runs one SELECT in DuckDB's SQL. Results are limited. The error for an invalid
	// query wraps ErrBadQuery.
	Query(ctx context.Context, sql string) (Rows, error)
}

// Rows is the result of a query or a search.
type Rows struct {
	// Columns has the names, in order.
	Columns []string
	// Rows has JSON objects; keys that start with __ are internal.
	Rows []json.RawMessage
	// Truncated says that there were more, and Total how many in all, if they were counted.
	Truncated bool
	Total     int64
	// Units has the units of numbers, by column, where they are known.
	Units map[string]string
	// Measure is as in [Query].
	Measure string
}

// Plan has the steps of an answer.
type Plan struct {
	// Steps are instructions for one query each. They may refer to results of earlier ones.
	Steps     []string
	Reasoning string
	Usage     Usage
}

// QueryTask is a step that needs a query.
type QueryTask struct {
	Task
	// Instruction is the step; the question itself when there is no plan.
	Instruction string
	// Before has the steps that are done.
	Before []Step
	// Failed has the failed queries for this step.
	Failed []FailedQuery
}

// FailedQuery is a query and why it was refused or failed.
type FailedQuery struct{ SQL, Reason string }

// Step is a step and its result.
type Step struct {
	Instruction, Query, Reasoning string
	Rows                          Rows
	// Failure says why there is no result; "" when there is one.
	Failure string
}

// Query is SQL or a search.
type Query struct {
	SQL    string
	Search *Search
	// Measure is the last column of the rows, if it was not asked for and shows by what the first
	// rows were selected; "" otherwise.
	Measure string
	// Reasoning says how the question was understood.
	Reasoning string
	// Confidence is the probability that the query is right; 0 if it is not known.
	Confidence float64
	// Readings are set where the user has to choose: the question can be read in several ways
	// that are about equally likely. The first is that of SQL.
	Readings []Reading
	// Others are less likely readings, to choose from if this one is wrong.
	Others []Reading
	// Unused are words of the question that the query does not use, as far as they are known.
	Unused []string
	Usage  Usage
}

// Reading is one way to read a question.
type Reading struct {
	// SQL and Measure are as in [Query].
	SQL, Measure string
	// Words describe it for the user, unlike the others.
	Words string
}

// Search finds the passages of a dataset that match some words best.
type Search struct {
	Dataset, Words string
	Limit          int
}

// AnswerTask has the steps for an answer.
type AnswerTask struct {
	Task
	Steps []Step
}

// Answer is an answer in words.
type Answer struct {
	// Markdown cites steps as [step N], from 1.
	Markdown string
	Usage    Usage
}

// Usage counts the tokens of a model.
type Usage struct {
	Model                     string
	InputTokens, OutputTokens int
}

// Add adds the tokens of another call.
func (u *Usage) Add(more Usage) {
	u.Model = cmp.Or(more.Model, u.Model)
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
}
