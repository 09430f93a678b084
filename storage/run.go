package storage

import (
	"context"
	"encoding/json"
	"time"
)

// RunStatus says how far a run is.
type RunStatus string

// The states of a run. All but running are final.
const (
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunExpired   RunStatus = "expired"
)

// Final reports whether a run in this state changes no more.
func (s RunStatus) Final() bool { return s != RunRunning }

// Run is one question answered by one agent.
type Run struct {
	ID             string
	ConversationID string
	Agent          string
	Question       string
	RunOutcome
	// LastNodeID names the last step that the run reached.
	LastNodeID string
	CreatedAt  time.Time
}

// RunOutcome is how a run stands or, with a final status, how it ended.
type RunOutcome struct {
	Status RunStatus
	// ErrorMessage says, fit for a reader, why the run failed.
	ErrorMessage string
	// Result is the rendered result, a JSON document; nil until completed.
	Result json.RawMessage
}

// Runs keeps runs, which Tasks makes and ends. A run belongs to the user who
// asked; to all others it is not found. A restricted token sees the runs in
// namespaces that it covers whole, and those that were asked with it.
type Runs interface {
	Run(ctx context.Context, caller Caller, id string) (Run, error)
	// MayDeleteRun says what DeleteRun would, for what is done before. ErrForbidden
	// for a read-only token.
	MayDeleteRun(ctx context.Context, caller Caller, id string) error
	// ResultBytes is how large the result of a run is.
	ResultBytes(ctx context.Context, caller Caller, id string) (int, error)
	// DeleteRun removes a run and, with its last run, its conversation.
	DeleteRun(ctx context.Context, caller Caller, id string) error
}
