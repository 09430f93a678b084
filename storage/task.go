package storage

import (
	"context"
	"encoding/json"
	"time"
)

// EventKind says what an event holds.
type EventKind string

// The kinds of event.
const (
	EventTask     EventKind = "task"
	EventStatus   EventKind = "status"
	EventArtifact EventKind = "artifact"
	EventMessage  EventKind = "message"
)

// Event is one event of a run. The events of a run are numbered from 1, without
// gaps. Some of a run that has ended long ago may no longer be kept; the last one
// is, and those that make up its artifacts.
type Event struct {
	Number int64
	Kind   EventKind
	// Body is the event as it goes over the wire, a JSON document.
	Body json.RawMessage
}

// Task is what the events of a run have come to.
type Task struct {
	RunID          string
	ConversationID string
	Agent          string
	// State is the protocol's word; Open says that more may follow.
	State string
	Open  bool
	// Snapshot is the task without its artifacts, a JSON document.
	Snapshot json.RawMessage
	// LastEvent is the number of the last event.
	LastEvent int64
	UpdatedAt time.Time
	// MayCancel says that the caller's token may end the run; a list leaves it out.
	MayCancel bool
	// Artifacts are the events that make up its artifacts, where asked for.
	Artifacts []Event
}

// TaskChange is events, with what the task and its run have come to by them. It
// is written whole or not at all.
type TaskChange struct {
	RunID string
	// Start makes the run, at Target, where these are its first events.
	Start  *RunRequest
	Target RunTarget
	// Holder is the host that works on the run; "" for somebody else, who may
	// only end it.
	Holder string
	// After is the number of the event that the first of these follows.
	After  int64
	Events []Event
	State  string
	// Snapshot is the task without its artifacts.
	Snapshot json.RawMessage
	// LastNodeID names the last step that the run has reached; "" for the same
	// as before.
	LastNodeID string
	// Outcome ends the run; nil while it goes on.
	Outcome *RunOutcome
}

// RunTarget is where a question may be asked, as ResolveRun finds it.
type RunTarget struct {
	NamespaceID string
	// ConversationExists says that the conversation exists.
	ConversationExists bool
}

// TaskFilter says which tasks are wanted.
type TaskFilter struct {
	Agent          string
	ConversationID string
	State          string
	// UpdatedAfter leaves out what was last changed by then.
	UpdatedAfter time.Time
	// After is the last task of the page before; nil for the first page.
	After *TaskCursor
	// Limit is from 1 to 101.
	Limit int
}

// TaskCursor is a place in the list of tasks.
type TaskCursor struct {
	UpdatedAt time.Time
	RunID     string
}

// Tasks is the log of what agents do. Whoever reads names a caller: to all but
// the one who asked, a task is not found.
type Tasks interface {
	// ResolveRun says where in a namespace that the caller may see a question is
	// asked: in a conversation, or in one to be begun when its id is "". One that
	// the caller's token does not cover is ErrNotFound; one that is not begun is
	// not.
	ResolveRun(ctx context.Context, caller Caller, in NamespaceRef, conversationID string) (RunTarget, error)
	// Append writes a change and then says so, or why not: ErrConflict when it
	// does not follow what is there, ErrNotFound when the run or what it was
	// asked in is gone. Changes of one run are written in the order in which
	// they came, and one that follows a failed one fails. Append does not wait,
	// and neither may done.
	Append(change TaskChange, done func(error))

	// Task gives the task of one of the caller's runs, by one agent, or by any
	// when agent is "".
	Task(ctx context.Context, caller Caller, agent, runID string, artifacts bool) (Task, error)
	// ArtifactBytes is how large the artifacts of one of the caller's runs are; 0
	// where there is no such run.
	ArtifactBytes(ctx context.Context, caller Caller, runID string) (int, error)
	// Tasks lists the caller's, the last changed first, and says how many there
	// are besides the limit and the cursor.
	Tasks(ctx context.Context, caller Caller, filter TaskFilter) (tasks []Task, total int, err error)
	// Events gives some of a run's events after a number, in order; none when
	// there are none yet.
	Events(ctx context.Context, caller Caller, runID string, after int64) ([]Event, error)
	// EventBytes is how large the events are that Events gives; 0 where there are none.
	EventBytes(ctx context.Context, caller Caller, runID string, after int64) (int, error)

	// RecentTurns gives the last completed turns of a conversation, at most limit,
	// latest first, and leaves out results as Conversation does. None when there is
	// no such conversation.
	RecentTurns(ctx context.Context, caller Caller, conversationID string, limit int) ([]Turn, error)
}

// ClaimedRun is a run that a host took over.
type ClaimedRun struct {
	// Request has no provider, model and helper prompt if an older program has begun the
	// run: only the first message of the task names them.
	Request RunRequest
	Task    Task
	// Takeovers counts the hosts that died at work on it.
	Takeovers int
	// Age is how long ago it was asked.
	Age time.Duration
}

// Hosts keeps which process works on which run. A host holds its runs for as
// long as it says that it is alive.
type Hosts interface {
	// RenewHost says that a host is alive for that long from now.
	RenewHost(ctx context.Context, holder string, lasts time.Duration) error
	// ClaimRuns makes holder the holder of some open runs of these agents that no
	// living host holds, at most limit.
	ClaimRuns(ctx context.Context, holder string, agents []string, limit int) ([]ClaimedRun, error)
	// HostRuns gives the ids of the open runs that a host holds.
	HostRuns(ctx context.Context, holder string) ([]string, error)
	// ReleaseRun releases a run that its host does not work on. It is nothing
	// against the run.
	ReleaseRun(ctx context.Context, holder, runID string) error
	// ReleaseRuns releases all runs of a host that stops.
	ReleaseRuns(ctx context.Context, holder string) error
	// LastEvents gives the numbers of the last events of runs, without those that
	// are not there.
	LastEvents(ctx context.Context, runIDs []string) (map[string]int64, error)
	// Listen tells of runs that other processes have changed, until ctx ends; an
	// empty id says that any may have been. changed must not block.
	Listen(ctx context.Context, changed func(runID string)) error
}
