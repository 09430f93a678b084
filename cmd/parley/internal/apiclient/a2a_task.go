package apiclient

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Task is an A2A task. Rows stay JSON, to keep the order of fields and the digits of
// numbers.
type Task struct {
	ID        string
	ContextID string
	Status    TaskStatus
	Artifacts []Artifact
	History   []Message
}

// Question is the message that started the task; empty if the task has no history.
func (t *Task) Question() (first Message) {
	if len(t.History) > 0 {
		first = t.History[0]
	}
	return first
}

// TaskStatus is the state of a task.
type TaskStatus struct {
	State     State
	Timestamp time.Time
	Message   Message
}

// Message is a message of the user or the agent.
type Message struct {
	MessageID string
	Parts     Parts
	// Metadata may come from any client.
	Metadata struct{ Namespace, Username lenientText }
}

// lenientText is a text; "" for another JSON type.
type lenientText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *lenientText) UnmarshalJSON(value []byte) error {
	var text string
	_ = json.Unmarshal(value, &text)
	*t = lenientText(text)
	return nil
}

// Namespace returns the namespace of a message, with its owner if that is given; "" for
// none.
func (m Message) Namespace() string {
	namespace := string(m.Metadata.Namespace)
	if owner := string(m.Metadata.Username); owner != "" && owner != "self" && !strings.Contains(namespace, "/") {
		return owner + "/" + namespace
	}
	return namespace
}

// Artifact is an output of a task.
type Artifact struct {
	ArtifactID string
	Parts      Parts
	Metadata   struct {
		Answered *bool
		// Measure is the column of the rows that was not asked for.
		Measure string
		Certainty
		Instruction, Reasoning string
		// Suggestions are questions to ask in place of one that was refused.
		Suggestions []string
	}
}

// Certainty says how certain a result is; zero where that is not known.
type Certainty struct {
	Confidence float64 `json:"confidence,omitempty"`
	// Certainty is sure or likely.
	Certainty string `json:"certainty,omitempty"`
	// Alternatives are other readings of the question.
	Alternatives []Option `json:"alternatives,omitempty"`
}

// Unanswered reports whether the artifact is a refusal.
func (a Artifact) Unanswered() bool { return a.Metadata.Answered != nil && !*a.Metadata.Answered }

// Parts are those of a message or an artifact.
type Parts []Part

// Part is a text or data.
type Part struct {
	Text string
	Data Data
}

// Data has rows, the steps of a plan, the options of a question to the user, or the query
// that failed.
type Data struct {
	Rows     []json.RawMessage
	RowCount int
	// Truncated says that there were more rows, and TotalRows how many in all, if they were
	// counted.
	Truncated bool
	TotalRows int
	// Columns are those of a result without rows.
	Columns []string
	Steps   []string
	Options []Option
	Code    string
	Query   string
	// Suggestions are questions to ask in place of one that was refused.
	Suggestions []string
}

// Option is a possible answer to a question to the user.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Query string `json:"query,omitempty"`
}

// Text returns the first text.
func (p Parts) Text() string {
	for _, part := range p {
		if part.Text != "" {
			return part.Text
		}
	}
	return ""
}

// Data returns the first data.
func (p Parts) Data() Data {
	for _, part := range p {
		if d := part.Data; d.Rows != nil || d.Steps != nil || d.Options != nil || d.Code != "" || d.Query != "" {
			return d
		}
	}
	return Data{}
}

// State is that of a task, as A2A spells it.
type State string

// Final states that are told apart.
const (
	Completed = State(a2a.TaskStateCompleted)
	Failed    = State(a2a.TaskStateFailed)
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return a2a.TaskState(s).Terminal() }

// Waits reports whether the task waits for an answer of the user.
func (s State) Waits() bool {
	return s == State(a2a.TaskStateInputRequired) || s == State(a2a.TaskStateAuthRequired)
}

// String returns the state in lower case: completed, failed, working, input-required.
func (s State) String() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")), "_", "-")
}

// Event is one of a task's stream: exactly one of the three.
type Event struct {
	// Number counts the events of a task; 0 where the server does not.
	Number int64 `json:"-"`

	Task           *Task
	StatusUpdate   *StatusUpdate
	ArtifactUpdate *ArtifactUpdate
}

// StatusUpdate is a new status of a task.
type StatusUpdate struct {
	TaskID, ContextID string
	Status            TaskStatus
}

// ArtifactUpdate is a new artifact of a task.
type ArtifactUpdate struct {
	TaskID, ContextID string
	Artifact          Artifact
}

// Apply updates the task by an event.
func (t *Task) Apply(e Event) {
	switch {
	case e.Task != nil:
		*t = *e.Task
	case e.StatusUpdate != nil:
		t.ID, t.ContextID = e.StatusUpdate.TaskID, e.StatusUpdate.ContextID
		t.Status = e.StatusUpdate.Status
	case e.ArtifactUpdate != nil:
		t.ID, t.ContextID = e.ArtifactUpdate.TaskID, e.ArtifactUpdate.ContextID
		artifact := e.ArtifactUpdate.Artifact
		t.Artifacts = slices.DeleteFunc(t.Artifacts, func(a Artifact) bool { return a.ArtifactID == artifact.ArtifactID })
		t.Artifacts = append(t.Artifacts, artifact)
	}
}
