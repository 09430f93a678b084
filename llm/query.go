package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	maxSQL   = 16 << 10
	maxWords = 1 << 10
	// defaultHits and maxHits are how many passages a search gives.
	defaultHits = 5
	maxHits     = 50
)

var queryShape = readShape("query")

// WriteQuery implements [Jobs].
func (c *Chat) WriteQuery(ctx context.Context, task QueryTask) (Query, error) {
	instruction := cmp.Or(strings.TrimSpace(task.Instruction), task.Question)
	words := []string{instruction}
	for _, step := range task.Before {
		words = append(words, step.Query)
	}
	for _, failed := range task.Failed {
		words = append(words, failed.SQL)
	}
	view := struct {
		taskView
		Searchable                         bool
		Before, Instruction, Failed, Meant string
	}{
		taskView:    c.viewOf(ctx, task.Task, words...),
		Searchable:  slices.ContainsFunc(task.Datasets, Dataset.HoldsPassages),
		Before:      stepsText(task.Before, beforeLimits),
		Instruction: shorten(instruction, maxStep),
		Failed:      failedText(task.Failed),
		Meant:       nearMissText(task.Failed, task.Datasets),
	}
	known := knownLinks(task.Task)
	var query Query
	err := c.run(ctx, "query", queryShape, view, &query.Usage, func(text string) error {
		got, err := decode(text, func(q *queryOutput) error { return q.check(task.Datasets) })
		if err != nil {
			return err
		}
		if got.SQL == "" && got.SearchDataset == "" {
			return unanswerable(got.Unanswerable, known)
		}
		// Users see the query too, but it cannot be changed.
		if err := known.checkQuery(got.SQL); err != nil {
			return err
		}
		query.SQL, query.Reasoning = got.SQL, known.sanitize(got.Reasoning)
		if got.SQL == "" {
			query.Search = &Search{Dataset: got.SearchDataset, Words: known.sanitize(got.SearchWords), Limit: got.SearchLimit}
		}
		return nil
	})
	return query, err
}

type queryOutput struct {
	Reasoning, Unanswerable, SQL string
	SearchDataset                string `json:"search_dataset"`
	SearchWords                  string `json:"search_words"`
	SearchLimit                  int    `json:"search_limit"`
}

var sqlFence = regexp.MustCompile("(?s)^```[a-zA-Z]*\\s*\n(.*?)\n?\\s*```$")

func (q *queryOutput) check(datasets []Dataset) error {
	if err := checkTexts(q.SQL, q.SearchDataset, q.SearchWords); err != nil {
		return err
	}
	q.SQL = strings.TrimSpace(q.SQL)
	if found := sqlFence.FindStringSubmatch(q.SQL); found != nil {
		q.SQL = found[1]
	}
	q.SQL = strings.TrimRight(strings.TrimSpace(q.SQL), "; \n\t")
	q.Reasoning = shorten(clean(q.Reasoning), maxReasoning)
	switch {
	case len(q.SQL) > maxSQL:
		return fmt.Errorf("sql is longer than %d bytes", maxSQL)
	case q.SQL == "" && q.SearchDataset == "" && !blank(q.Unanswerable):
		return nil
	case q.SQL == "" && q.SearchDataset == "":
		return errors.New("sql is empty, and so are search_dataset and unanswerable")
	case q.SQL == "":
		return q.checkSearch(datasets)
	}
	return nil
}

func (q *queryOutput) checkSearch(datasets []Dataset) error {
	d, found := datasetNamed(datasets, strings.Trim(q.SearchDataset, `"`))
	if !found || !d.HoldsPassages() {
		return errors.New("search_dataset is not one of the datasets with passages of text")
	}
	q.SearchDataset = d.Name
	if q.SearchWords = strings.TrimSpace(q.SearchWords); q.SearchWords == "" || len(q.SearchWords) > maxWords {
		return fmt.Errorf("search_words must have 1 to %d bytes", maxWords)
	}
	q.SearchLimit = min(cmp.Or(max(q.SearchLimit, 0), defaultHits), maxHits)
	return nil
}
