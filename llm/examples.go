package llm

import "context"

// Exampler gives example questions.
type Exampler interface {
	// ExampleQuestion gives a question about one of the task's datasets that is answered;
	// "" for none. The task has no question.
	ExampleQuestion(ctx context.Context, task Task, about Dataset) (string, error)
}
