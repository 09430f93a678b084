package reader

import (
	"context"
	"strings"

	"parley/llm"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

var (
	_ llm.Jobs      = (*Reader)(nil)
	_ llm.Describer = (*Reader)(nil)
)

// Plan says in which steps a question is to be answered: one for each question in it.
func (r *Reader) Plan(_ context.Context, task llm.Task) (llm.Plan, error) {
	question := strings.TrimSpace(task.Question)
	if strings.IndexFunc(question, isWordRune) < 0 {
		return llm.Plan{}, dialog.EmptyQuestion()
	}
	steps := dialog.Steps(question)
	if len(task.Earlier) == 0 && dialog.HasBackReference(link.Tokenize(steps[0])) {
		return llm.Plan{}, dialog.NoPreviousQuestion()
	}
	if len(steps) == 1 {
		return llm.Plan{Steps: steps, Reasoning: "One query answers it."}, nil
	}
	return llm.Plan{Steps: steps, Reasoning: "The question has several parts; each is looked up by itself."}, nil
}

// Answer puts what the steps gave into sentences, with a short table where there are
// several rows.
func (r *Reader) Answer(ctx context.Context, task llm.AnswerTask) (llm.Answer, error) {
	return dialog.Answer(task), ctx.Err()
}

// Describe implements [llm.Describer]. It says of the sample what anybody can see in it.
func (r *Reader) Describe(ctx context.Context, task llm.DescribeTask) (llm.Description, error) {
	if err := ctx.Err(); err != nil {
		return llm.Description{}, err
	}
	return dialog.Describe(task)
}
