package domain

import (
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
