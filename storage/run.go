package storage

import (
	"context"
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

// RunOutcome is the status of a run and, with a final status, its result.
type RunOutcome struct {
	Status RunStatus
	// ErrorMessage says, for the reader of the run, why it failed.
	ErrorMessage string
	// Result is the rendered result, a JSON document; nil until completed.
	Result json.RawMessage
}

// Runs reads and deletes runs; Tasks creates and ends them. A run belongs to the user who
// asked; all others get ErrNotFound. A restricted token sees the runs in namespaces that
// it covers entirely, and its own.
type Runs interface {
	Run(ctx context.Context, caller Caller, id string) (Run, error)
	// MayDeleteRun gives the error that DeleteRun would, before anything is changed.
	// ErrForbidden for a read-only token.
	MayDeleteRun(ctx context.Context, caller Caller, id string) error
	// ResultBytes gives the size of a run's result.
	ResultBytes(ctx context.Context, caller Caller, id string) (int, error)
	// DeleteRun deletes a run, and its conversation if it was the last run there.
	DeleteRun(ctx context.Context, caller Caller, id string) error
}
