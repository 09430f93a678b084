package storage

import "encoding/json"

// ProgressKind says what a Progress tells.
type ProgressKind string

// What readers of a run are told, in this order; a failure may come at any time
// and is the last.
const (
	PlanningStarted ProgressKind = "planningStarted"
	Planned         ProgressKind = "plan"
	StepStarted     ProgressKind = "stepStarted"
	QueryExecuting  ProgressKind = "queryExecuting"
	StepDone        ProgressKind = "step"
	AnswerStarted   ProgressKind = "answerStarted"
	Answered        ProgressKind = "answer"
	RunHasFailed    ProgressKind = "error"
)

// Progress is one thing that a run has come to, as its readers are told.
type Progress struct {
	Kind ProgressKind
	// Steps and Reasoning are the plan: Planned.
	Steps     []string
	Reasoning string
	// Index counts the steps from 0; Step is what is known of that one:
	// StepStarted, QueryExecuting, StepDone.
	Index int
	Step  Step
	// Text is the answer, or why there is none: Answered, RunHasFailed.
	Text string
}

// Step is one query of a run and what it gave.
type Step struct {
	Instruction string
	Query       string
	Reasoning   string
	// Data are the rows, JSON objects; Truncated says that there were more.
	Data      []json.RawMessage
	Truncated bool
}
