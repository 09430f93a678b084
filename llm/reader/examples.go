package reader

import (
	"context"
	"errors"
	"strings"

	"parley/llm"
	"parley/llm/reader/dialog"
)

var _ llm.Exampler = (*Reader)(nil)

// ExampleQuestion implements [llm.Exampler]: a question is an example only if it is read
// with confidence, among all datasets of the task. Passages have none: what a search finds
// depends on what they say.
func (r *Reader) ExampleQuestion(ctx context.Context, task llm.Task, about llm.Dataset) (string, error) {
	if about.HoldsPassages() {
		return "", nil
	}
	s, err := r.source(ctx, task, []llm.Dataset{about}, nil)
	if err != nil {
		return "", err
	}
	for _, question := range dialog.Suggestions(nil, s.Catalog) {
		task.Question = question
		query, err := r.WriteQuery(ctx, llm.QueryTask{Task: task, Instruction: question})
		if _, refused := errors.AsType[*llm.UnanswerableError](err); refused {
			continue
		}
		if err != nil {
			return "", err
		}
		// It may have been read as about another dataset, as a search in passages, or in two
		// ways.
		if query.Search == nil && len(query.Readings) == 0 && strings.Contains(query.SQL, about.Name) {
			return question, nil
		}
	}
	return "", nil
}
