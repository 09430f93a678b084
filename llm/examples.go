package llm

import "context"

// Exampler returns example questions.
type Exampler interface {
	// ExampleQuestion returns a question about one of the task's datasets that is answered;
	// "" for none. The task has no question.
	ExampleQuestion(ctx context.Context, task Task, about Dataset) (string, error)
}
