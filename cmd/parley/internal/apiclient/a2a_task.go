package apiclient

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Task is what is read of a task. Rows stay as they came, for the order of their
// fields and the digits of their numbers count.
type Task struct {
	ID        string
	ContextID string
	Status    TaskStatus
	Artifacts []Artifact
	History   []Message
}

// TaskStatus is how far a task is.
type TaskStatus struct {
	State     State
	Timestamp time.Time
	Message   Message
}

// Message is what one side said.
type Message struct {
	MessageID string
	Parts     Parts
	// Metadata is what the asker said, whichever client that was.
	Metadata struct{ Namespace, Username lenientText }
}

// lenientText is a text; something else in its place is "".
type lenientText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *lenientText) UnmarshalJSON(value []byte) error {
	var text string
	_ = json.Unmarshal(value, &text)
	*t = lenientText(text)
	return nil
}

// Namespace gives the namespace that a message is about, with its owner where
// that is said; "" when none is.
func (m Message) Namespace() string {
	namespace := string(m.Metadata.Namespace)
	if owner := string(m.Metadata.Username); owner != "" && owner != "self" && !strings.Contains(namespace, "/") {
		return owner + "/" + namespace
	}
	return namespace
}

// Artifact is something that a task has made.
type Artifact struct {
	ArtifactID string
	Parts      Parts
	Metadata   struct {
		Answered               *bool
		Confidence             float64
		Instruction, Reasoning string
	}
}

// Unanswered reports whether an artifact says that there is no answer.
func (a Artifact) Unanswered() bool { return a.Metadata.Answered != nil && !*a.Metadata.Answered }

// Parts are the pieces of a message or an artifact.
type Parts []Part

// Part is a text or data.
type Part struct {
	Text string
	Data Data
}

// Data is what agents say besides words: rows, the steps of a plan, or the query
// that failed.
type Data struct {
	Rows      []json.RawMessage
	RowCount  int
	Truncated bool
	Steps     []string
	Code      string
	Query     string
}

// Text gives the first text among the parts.
func (p Parts) Text() string {
	for _, part := range p {
		if part.Text != "" {
			return part.Text
		}
	}
	return ""
}

// Data gives the first data among the parts.
func (p Parts) Data() Data {
	for _, part := range p {
		if d := part.Data; d.Rows != nil || d.Steps != nil || d.Code != "" || d.Query != "" {
			return d
		}
	}
	return Data{}
}

// State is that of a task, as A2A spells it.
type State string

// The states that callers tell apart.
const (
	Completed State = "TASK_STATE_COMPLETED"
	Failed    State = "TASK_STATE_FAILED"
	Canceled  State = "TASK_STATE_CANCELED"
	Rejected  State = "TASK_STATE_REJECTED"
)

// Ended reports whether nothing follows a state.
func (s State) Ended() bool {
	return slices.Contains([]State{Completed, Failed, Canceled, Rejected}, s)
}

// String gives the state as one word: completed, failed, working.
func (s State) String() string { return strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")) }

// Event is one of a task's stream: exactly one of the three.
type Event struct {
	Task           *Task
	StatusUpdate   *StatusUpdate
	ArtifactUpdate *ArtifactUpdate
}

// StatusUpdate says that a task is progressed.
type StatusUpdate struct {
	TaskID, ContextID string
	Status            TaskStatus
}

// ArtifactUpdate brings an artifact.
type ArtifactUpdate struct {
	TaskID, ContextID string
	Artifact          Artifact
}

// Apply puts what an event says into the task.
func (t *Task) Apply(e Event) {
	switch {
	case e.Task != nil:
		*t = *e.Task
	case e.StatusUpdate != nil:
		t.ID, t.ContextID = e.StatusUpdate.TaskID, e.StatusUpdate.ContextID
		t.Status = e.StatusUpdate.Status
	case e.ArtifactUpdate != nil:
		t.ID, t.ContextID = e.ArtifactUpdate.TaskID, e.ArtifactUpdate.ContextID
		made := e.ArtifactUpdate.Artifact
		t.Artifacts = slices.DeleteFunc(t.Artifacts, func(a Artifact) bool { return a.ArtifactID == made.ArtifactID })
		t.Artifacts = append(t.Artifacts, made)
	}
}
