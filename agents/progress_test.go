package agents

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
)

// TestProgressOfATask reads the progress of a run whose events are no longer kept by what it
// came to.
func TestProgressOfATask(t *testing.T) {
	t.Parallel()
	progress := NewProgress("How many?")
	if reports := progress(&a2a.Task{Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}); len(reports) != 0 {
		t.Errorf("a task that has just begun: %+v", reports)
	}
	answer := &a2a.Artifact{ID: AnswerText, Parts: a2a.ContentParts{a2a.NewTextPart("Two.")}}
	reports := progress(&a2a.Task{Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Artifacts: []*a2a.Artifact{answer}})
	if len(reports) != 1 || reports[0].Kind != domain.Answered || reports[0].Text != "Two." {
		t.Errorf("a task that has ended: %+v", reports)
	}
}
