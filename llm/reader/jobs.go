package reader

import (
	"context"
	"strings"

	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

var (
	_ llm.Jobs      = (*Reader)(nil)
	_ llm.Describer = (*Reader)(nil)
)

// Plan returns a step for each question in the text.
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

// Answer formats the results of the steps as sentences, and several rows as a short table.
func (r *Reader) Answer(ctx context.Context, task llm.AnswerTask) (llm.Answer, error) {
	examples := func() []string {
		found, _ := r.exampleQuestions(ctx, task.Task, "") // without them the overview is right too
		return found
	}
	return dialog.Answer(task, r.embed(ctx), locale.NumbersFor(ctx), examples), ctx.Err()
}

// Describe implements [llm.Describer] from the sample alone.
func (r *Reader) Describe(ctx context.Context, task llm.DescribeTask) (llm.Description, error) {
	if err := ctx.Err(); err != nil {
		return llm.Description{}, err
	}
	return dialog.Describe(task)
}
