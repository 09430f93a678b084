package reader

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
	"parley/llm/reader/rank"
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
		query, err := r.writeQuery(ctx, llm.QueryTask{Task: task, Instruction: question})
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

const (
	// maxExamples limits the example questions of a refusal, and maxExampleTries those that are tried.
	maxExamples     = 3
	maxExampleTries = 8
	// maxOverview limits the datasets of an overview.
	maxOverview = 12
)

// exampleQuestions returns questions that the reader answers with confidence, about the same data as
// a question if possible. Each is asked as a user would ask it.
func (r *Reader) exampleQuestions(ctx context.Context, task llm.Task, question string) ([]string, error) {
	rows, _ := splitDatasets(task.Datasets)
	if len(rows) == 0 {
		return nil, nil
	}
	task.Earlier = nil
	chosen := r.selectDatasets(question, task, nil, rows)
	for _, d := range rows {
		if len(chosen) < maxExamples && !slices.ContainsFunc(chosen, func(c llm.Dataset) bool { return c.Name == d.Name }) {
			chosen = append(chosen, d)
		}
	}
	s, err := r.source(ctx, task, chosen, nil)
	if err != nil {
		return nil, err
	}
	var examples []string
	for i, example := range dialog.Suggestions(link.Tokenize(question), s.Catalog) {
		if len(examples) == maxExamples || i == maxExampleTries {
			break
		}
		task.Question = example
		f, err := r.interpret(ctx, llm.QueryTask{Task: task, Instruction: example}, example, nil, rows, nil)
		if err != nil {
			return nil, err
		}
		if best := f.readings; f.isReadable() && rank.IsSure(best[0].Confidence) && len(best[0].Unused()) == 0 && !best[0].Empty {
			examples = append(examples, example)
		}
	}
	return examples, nil
}

// overview returns the query for an overview of the data.
func (r *Reader) overview(ctx context.Context, task llm.QueryTask, rows, passages []llm.Dataset) (llm.Query, error) {
	others := slices.Clone(passages)
	rows = slices.DeleteFunc(slices.Clone(rows), func(d llm.Dataset) bool {
		if d.Rows == 0 {
			others = append(others, d)
		}
		return d.Rows == 0
	})
	rows = rows[:min(len(rows), maxOverview)]
	s, err := r.source(ctx, task.Task, rows, nil)
	if err != nil {
		return llm.Query{}, err
	}
	units := func(t int, column string) string {
		if task.Units == nil {
			return ""
		}
		return task.Units(ctx, rows[t])[column]
	}
	return llm.Query{SQL: dialog.OverviewSQL(s.Catalog, others[:min(len(others), maxOverview)], units), Reasoning: "Read as: an overview of the data.", Confidence: 1}, nil
}

// isName reports whether the name of a dataset has a word with a stem.
func (r *Reader) isName(stem string, datasets []llm.Dataset) bool {
	return slices.ContainsFunc(datasets, func(d llm.Dataset) bool {
		return slices.ContainsFunc(r.namesOf(d).table, func(word string) bool { return catalog.Stem(word) == stem })
	})
}
