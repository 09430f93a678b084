package domain

import (
	"context"
	"encoding/json"
	"time"
)

// EventKind is the type of an event.
type EventKind string

// The kinds of event.
const (
	EventTask     EventKind = "task"
	EventStatus   EventKind = "status"
	EventArtifact EventKind = "artifact"
	EventMessage  EventKind = "message"
)

// Event is one event of a run. The events of a run are numbered from 1, without gaps.
// Retention deletes events of runs that ended long ago, except the last one and those
// of artifacts.
type Event struct {
	Number int64
	Kind   EventKind
	// Body is the event as it is sent, a JSON document.
	Body json.RawMessage
}

// Task is the state of a run after its events.
type Task struct {
	RunID          string
	ConversationID string
	Agent          string
	// State is the protocol's name; Open says that more events may follow.
	State string
	Open  bool
	// Snapshot is the task without its artifacts, a JSON document.
	Snapshot json.RawMessage
	// LastEvent is the number of the last event.
	LastEvent int64
	UpdatedAt time.Time
	// MayCancel says that the caller's token may end the run, and answer what it asks;
	// unset in lists.
	MayCancel bool
	// Artifacts are the events of its artifacts, if requested.
	Artifacts []Event
}

// TaskChange adds events to a run, with the state of the task after them. It is written
// atomically.
type TaskChange struct {
	RunID string
	// Owner has the run. Owners with many or large changes do not delay those of others.
	Owner string
	// Start, if set, creates the run. Without a namespace it waits until the user names
	// one.
	Start *Question
	// Holder is the host that executes the run; "" for another writer, which may only
	// end it.
	Holder string
	// After is the number of the last event before these.
	After  int64
	Events []Event
	State  string
	// StatusAt is the time of the task's status.
	StatusAt time.Time
	// Snapshot is the task without its artifacts.
	Snapshot json.RawMessage
	// LastNodeID names the last step that the run reached; "" leaves it unchanged.
	LastNodeID string
	// Outcome ends the run; nil while it continues.
	Outcome *RunOutcome
}

// The protocol's names of the states in which a run waits for the user.
const (
	StateInputRequired = "TASK_STATE_INPUT_REQUIRED"
	StateAuthRequired  = "TASK_STATE_AUTH_REQUIRED"
)

// TaskFilter selects tasks.
type TaskFilter struct {
	Agent          string
	ConversationID string
	State          string
	// StatusSince excludes tasks whose status is from before.
	StatusSince time.Time
	// After has the RunID and UpdatedAt of the last task of the previous page; zero for the
	// first page.
	After Task
	// Limit is from 1 to 101.
	Limit int
}

// Tasks is the event log of runs. Reads have a caller: a task of another user is
// ErrNotFound.
type Tasks interface {
	// ResolveRun finds where to create a run and sets it in the question: in a namespace that
	// the caller may read, if it names one, and in a conversation, or a new one if its id is "". A
	// conversation that the caller's token does not cover is ErrNoConversation; one that does not
	// exist is no error.
	ResolveRun(ctx context.Context, question *Question) error
	// SentRun returns the id of the run that a message of the caller has made or answered, and
	// the digest of the one that made it.
	SentRun(ctx context.Context, caller Caller, agent, key string) (runID, digest string, err error)
	// ConversationNamespace returns the namespace that the last run of a conversation asked;
	// ErrNotFound when there is none, ErrInvalid when the caller may not read it any more. It
	// is zero in a conversation that has attachments alone.
	ConversationNamespace(ctx context.Context, caller Caller, conversationID string) (NamespaceRef, error)
	// WaitingRuns returns the ids of runs in a conversation that wait for an answer, at most
	// two; or only that of the run that a message has answered.
	WaitingRuns(ctx context.Context, caller Caller, agent, conversationID, message string) ([]string, error)
	// Append writes a change and then calls done: with ErrConflict when the change does
	// not follow the last event, with ErrNotFound when the run, its namespace or its
	// conversation was deleted, with ErrMessageSent when the run's message has made a run
	// before. A change after the start of a run records that its agent has started; it may
	// have no events. Changes of one run are written in order; one that follows a failed
	// one fails. Append does not block, and done must not.
	Append(change TaskChange, done func(error))

	// Task returns the task of one of the caller's runs by an agent; "" for any.
	Task(ctx context.Context, caller Caller, agent, runID string, artifacts bool) (Task, error)
	// ArtifactBytes returns the size of the artifacts of one of the caller's runs; 0 when
	// there is no such run.
	ArtifactBytes(ctx context.Context, caller Caller, runID string) (int, error)
	// Tasks lists the caller's tasks, the last changed first. total ignores the limit and
	// the cursor.
	Tasks(ctx context.Context, caller Caller, filter TaskFilter) (tasks []Task, total int, err error)
	// TaskSizes returns the sizes of the snapshots that Tasks would give, in bytes.
	TaskSizes(ctx context.Context, caller Caller, filter TaskFilter) ([]int, error)
	// Events returns the next events of a run after a number, in order; none when there are
	// none yet.
	Events(ctx context.Context, caller Caller, runID string, after int64) ([]Event, error)
	// EventBytes returns the size of what Events would give; 0 for none.
	EventBytes(ctx context.Context, caller Caller, runID string, after int64) (int, error)

	// RecentTurns returns the last completed turns of a conversation, at most limit, latest
	// first, without large results, as Conversation does. None when there is no such
	// conversation.
	RecentTurns(ctx context.Context, caller Caller, conversationID string, limit int) ([]Run, error)
}

// ClaimedRun is a run that a host claimed.
type ClaimedRun struct {
	// Question has no provider, model and helper prompt if an older program has begun the
	// run: only the first message of the task names them, and all that has no column.
	Question Question
	Task     Task
	// Takeovers counts the hosts that died after they had started its agent.
	Takeovers int
	// Age is the time since it changed last.
	Age time.Duration
}

// AnsweredRun is a run that waited for an answer and has got it.
type AnsweredRun struct {
	RunID string
	// After is the number of its last event.
	After int64
	State string
	// Snapshot is the task with the answer in its history, without artifacts.
	Snapshot json.RawMessage
	// NamespaceID is the namespace that the answer names; "" leaves it unchanged.
	NamespaceID string
	// Caller answers. Message is the key of the answer, see SentMessage, and Push the config
	// that comes with it, if any.
	Caller  Caller
	Message string
	Push    *PushConfig
}

// Hosts records which process executes which run. A host owns its runs until its lease
// ends. Nobody owns a run that waits for an answer, until it is claimed.
type Hosts interface {
	// ClaimRuns makes holder the owner of open runs of these agents without a live host, at
	// most limit. A run that waits for an answer is claimed when it has waited for
	// inputTimeout.
	ClaimRuns(ctx context.Context, holder string, agents []string, inputTimeout time.Duration, limit int) ([]ClaimedRun, error)
	// ResumeRun makes holder the owner of a run that waits for an answer. ErrConflict when it
	// no longer waits after that event.
	ResumeRun(ctx context.Context, holder string, answered AnsweredRun) (ClaimedRun, error)
	// LastEvents returns the numbers of the last events of runs, without runs that do not
	// exist.
	LastEvents(ctx context.Context, runIDs []string) (map[string]int64, error)
	// Listen calls changed for runs that other processes change, until ctx ends; an empty
	// id is any run. changed must not block.
	Listen(ctx context.Context, changed func(runID string)) error
}
