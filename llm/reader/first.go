package reader

import (
	"context"

	"parley/llm"
)

// First answers questions that the reader is sure of without a call of a language model, which answers all
// others. It is safe for concurrent use.
type First struct {
	*llm.Chat
	reader *Reader
}

var _ llm.Jobs = (*First)(nil)

// NewFirst returns a [First].
func NewFirst(r *Reader, model *llm.Chat) *First { return &First{model, r} }

// Plan returns the question itself as the only step if the reader is sure of it.
func (f *First) Plan(ctx context.Context, task llm.Task) (llm.Plan, error) {
	plan, err := f.reader.Plan(ctx, task)
	if err == nil && len(plan.Steps) == 1 {
		if _, ok := f.sureQuery(ctx, llm.QueryTask{Task: task, Instruction: plan.Steps[0]}); ok {
			return plan, nil
		}
	}
	return f.Chat.Plan(ctx, task)
}

// WriteQuery implements [llm.Jobs].
func (f *First) WriteQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	if q, ok := f.sureQuery(ctx, task); ok {
		return q, nil
	}
	return f.Chat.WriteQuery(ctx, task)
}

// Answer formats the result as the reader does if the only step has the reader's query.
func (f *First) Answer(ctx context.Context, task llm.AnswerTask) (llm.Answer, error) {
	if len(task.Steps) == 1 {
		step := task.Steps[0]
		if q, ok := f.sureQuery(ctx, llm.QueryTask{Task: task.Task, Instruction: step.Instruction}); ok && q.SQL == step.Query {
			return f.reader.Answer(ctx, task)
		}
	}
	return f.Chat.Answer(ctx, task)
}

// sureQuery returns the reader's query for a step. It returns false if the reader is not sure, or if a query for
// the step failed already. The reader remembers what it has read.
func (f *First) sureQuery(ctx context.Context, task llm.QueryTask) (llm.Query, bool) {
	if len(task.Failed) > 0 {
		return llm.Query{}, false
	}
	if task.MinConfidence != nil && *task.MinConfidence < llm.SureConfidence {
		task.MinConfidence = nil
	}
	q, err := f.reader.WriteQuery(ctx, task)
	return q, err == nil && q.Confidence >= llm.SureConfidence && len(q.Readings) == 0
}
