package domain

import (
	"encoding/json"
	"fmt"
)

// ProgressKind is the type of a Progress.
type ProgressKind string

// The kinds of progress, in the order in which they come. A failure may come at any time and
// is the last; a question to the user may come at any time, and is the last until it is
// answered.
const (
	PlanningStarted ProgressKind = "planningStarted"
	Planned         ProgressKind = "plan"
	StepStarted     ProgressKind = "stepStarted"
	QueryExecuting  ProgressKind = "queryExecuting"
	StepDone        ProgressKind = "step"
	AnswerStarted   ProgressKind = "answerStarted"
	Answered        ProgressKind = "answer"
	RunHasFailed    ProgressKind = "error"
	InputRequired   ProgressKind = "inputRequired"
)

// Progress is one step of a run as its readers see it.
type Progress struct {
	Kind ProgressKind
	// Steps and Reasoning are the plan: Planned.
	Steps     []string
	Reasoning string
	// Index counts the steps from 0; Step is what is known of the step:
	// StepStarted, QueryExecuting, StepDone.
	Index int
	Step  Step
	// Text is the answer, or why there is none: Answered, RunHasFailed.
	Text string
	// Code says what kind of failure it is, and Query is the query that failed, "" for none:
	// RunHasFailed.
	Code, Query string
	// Unavailable says that the same question may be answered later: RunHasFailed.
	Unavailable bool
	// Input is what the user is asked: InputRequired.
	Input *Input
}

// Step is one query of a run and its result.
type Step struct {
	Instruction string
	Query       string
	Reasoning   string
	// Data are the rows, JSON objects; Truncated says that there were more, and Total how
	// many in all, if they were counted.
	Data      []json.RawMessage
	Truncated bool
	Total     int64
	// Columns are the names of the columns of a step without rows.
	Columns []string
	// Chart is a Vega-Lite specification of the rows, a JSON object; nil for none. Units has
	// the units of numbers, by column. Measure is the last column, if it was not asked for and
	// shows by what the first rows were selected.
	Chart   any
	Units   map[string]string
	Measure string
	// Verified says that the query was verified for the question, by VerifiedBy.
	Verified   bool
	VerifiedBy string
	// Sources are the datasets that the query read.
	Sources []Source
	// Confidence is the probability that the query is right, and Certainty "sure" or "likely" by
	// it; zero where it is not known. Alternatives are other readings to choose from.
	Confidence   float64
	Certainty    string
	Alternatives []InputOption
}

// Input is what a run that waits asks the user. Its JSON is the data part of the message
// that asks.
type Input struct {
	// Name says what is asked for.
	Name     string `json:"name,omitempty"`
	Question string `json:"-"`
	// Options are the possible answers; none when any text is.
	Options []InputOption `json:"options"`
}

// Text is the text of the message that asks: the question and, for clients that do not read
// the data, the numbered options.
func (i Input) Text() string {
	text := i.Question
	for n, option := range i.Options {
		text += fmt.Sprintf("\n%d. %s", n+1, option.Label)
	}
	return text
}

// InputOption is a possible answer.
type InputOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Query is the query that it chooses, "" for none, and Measure is as in [Step].
	Query   string `json:"query,omitempty"`
	Measure string `json:"measure,omitempty"`
}
