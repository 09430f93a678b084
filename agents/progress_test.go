package agents

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage"
)

// TestProgressOfATask tells of a run whose events are no longer kept by what it
// came to.
func TestProgressOfATask(t *testing.T) {
	t.Parallel()
	tell := NewProgress("How many?")
	if told := tell(&a2a.Task{Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}); len(told) != 0 {
		t.Errorf("a task that has just begun: %+v", told)
	}
	answer := &a2a.Artifact{ID: AnswerText, Parts: a2a.ContentParts{a2a.NewTextPart("Two.")}}
	told := tell(&a2a.Task{Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Artifacts: []*a2a.Artifact{answer}})
	if len(told) != 1 || told[0].Kind != storage.Answered || told[0].Text != "Two." {
		t.Errorf("a task that has ended: %+v", told)
	}
}
