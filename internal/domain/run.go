package domain

import (
	"encoding/json"
	"time"
)

// RunStatus is the state of a run.
type RunStatus string

// The states of a run. All but running are final.
const (
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunExpired   RunStatus = "expired"
)

// Final reports whether a run in this state has ended.
func (s RunStatus) Final() bool { return s != RunRunning }

// Run is one question answered by one agent. As a turn of its conversation it has its id,
// question, outcome and the size of its result, which is left out if it is larger than
// InlineResult.
type Run struct {
	ID             string
	ConversationID string
	Agent          string
	Question       string
	RunOutcome
	// LastNodeID names the last step that the run reached.
	LastNodeID string
	CreatedAt  time.Time
	// ResultBytes is the size of the result; set in turns.
	ResultBytes int
}

// RunOutcome is the status of a run and, with a final status, its result.
type RunOutcome struct {
	Status RunStatus
	// ErrorMessage says, for the reader of the run, why it failed.
	ErrorMessage string
	// Result is the rendered result, a JSON document; nil until completed.
	Result json.RawMessage
}
