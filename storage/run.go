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

// SharedRun is a completed run as those see it who open the link to it.
type SharedRun struct {
	ID        string
	AskedBy   string
	Namespace NamespaceRef
	Agent     string
	Question  string
	SharedAt  time.Time
	// ResultBytes is the size of the result.
	ResultBytes int
}

// RunShares shares completed runs by links. A run is for those who may read, when they open
// the link, all datasets that it read.
type RunShares interface {
	// SharableRun gives the namespace of a run that the caller may share. ErrInvalid for one
	// that cannot be shared: it is not about a namespace, or follows other runs or attachments,
	// whose contents it may repeat.
	SharableRun(ctx context.Context, caller Caller, runID string) (NamespaceRef, error)
	// ShareRun shares a run of the caller's that read the datasets with these ids, and gives
	// the id of the link. A run has one link.
	ShareRun(ctx context.Context, caller Caller, runID string, datasets []string) (id string, err error)
	// EndRunShare ends the link; ErrNotFound when there is none.
	EndRunShare(ctx context.Context, caller Caller, runID string) error
	// SharedRun gives a run by its link. ErrNotFound to those who may not read all its data.
	SharedRun(ctx context.Context, caller Caller, id string) (SharedRun, error)
	// SharedResult gives its result, a JSON document.
	SharedResult(ctx context.Context, caller Caller, id string) (json.RawMessage, error)
}
