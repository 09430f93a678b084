package llm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxStep      = 2 << 10
	maxReasoning = 2 << 10
	maxSQL       = 16 << 10
	maxMarkdown  = 64 << 10
	maxWords     = 1 << 10
	maxHints     = 4 << 10
	maxTurns     = 5
	// standardHits and maxHits are how many passages a search gives.
	standardHits = 5
	maxHits      = 50
)

var (
	planShape  = readShape("plan")
	queryShape = readShape("query")
)

// taskView is a task as the prompts show it.
type taskView struct {
	Now, Schema, Earlier, Hints, Question string
}

func viewOf(ctx context.Context, task Task, words ...string) taskView {
	view := taskView{
		Now:      task.Now.UTC().Format("Monday, 2 January 2006, 15:04 UTC"),
		Earlier:  earlierText(task.Earlier),
		Hints:    shorten(task.Hints, maxHints),
		Question: shorten(task.Question, 32<<10),
	}
	if task.Now.IsZero() {
		view.Now = time.Now().UTC().Format(time.RFC3339)
	}
	words = append(words, task.Question, task.Hints)
	if n := len(task.Earlier); n > 0 {
		words = append(words, task.Earlier[n-1].Question)
		words = append(words, task.Earlier[n-1].Queries...)
	}
	view.Schema = schemaText(ctx, task, words...)
	return view
}

func earlierText(turns []Turn) string {
	var out strings.Builder
	for _, turn := range turns[max(0, len(turns)-maxTurns):] {
		fmt.Fprintf(&out, "asked: %s\n", shorten(turn.Question, 500))
		for _, query := range turn.Queries[:min(len(turn.Queries), MaxSteps)] {
			fmt.Fprintf(&out, "looked up: %s\n", shorten(oneLine(query), 1000))
		}
		fmt.Fprintf(&out, "answered: %s\n\n", shorten(turn.Answer, 1000))
	}
	return out.String()
}

// Plan implements [Jobs].
func (c *Chat) Plan(ctx context.Context, task Task) (Plan, error) {
	view := struct {
		taskView
		MaxSteps int
	}{viewOf(ctx, task), MaxSteps}
	known := knownLinks(task)
	var plan Plan
	usage, err := c.run(ctx, "plan", planShape, view, func(text string) error {
		got, err := decode(text, checkPlan)
		if err != nil {
			return err
		}
		if len(got.Steps) == 0 {
			return unanswerable(got.Unanswerable, known)
		}
		plan.Steps, plan.Reasoning = got.Steps, known.sanitize(got.Reasoning)
		return nil
	})
	plan.Usage = usage
	return plan, err
}

type planOutput struct {
	Reasoning, Unanswerable string
	Steps                   []string
}

func checkPlan(p *planOutput) error {
	if err := checkTexts(p.Steps...); err != nil {
		return err
	}
	p.Steps = withoutBlank(p.Steps)
	switch {
	case len(p.Steps) == 0 && blank(p.Unanswerable):
		return errors.New("steps is empty, and so is unanswerable")
	case len(p.Steps) > MaxSteps:
		return fmt.Errorf("there are %d steps, and at most %d are allowed", len(p.Steps), MaxSteps)
	}
	for i, step := range p.Steps {
		if len(step) > maxStep {
			return fmt.Errorf("step %d is longer than %d bytes", i+1, maxStep)
		}
	}
	p.Reasoning = shorten(clean(p.Reasoning), maxReasoning)
	return nil
}

func withoutBlank(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func unanswerable(reason string, known links) error {
	return Unanswerable("%s", known.sanitize(shorten(strings.TrimSpace(clean(reason)), maxReasoning)))
}

// checkTexts refuses what no text may hold.
func checkTexts(texts ...string) error {
	for _, text := range texts {
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return errors.New("a text holds a zero byte or is not UTF-8")
		}
	}
	return nil
}

// WriteQuery implements [Jobs].
func (c *Chat) WriteQuery(ctx context.Context, task QueryTask) (Query, error) {
	instruction := task.Instruction
	if blank(instruction) {
		instruction = task.Question
	}
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
		taskView:    viewOf(ctx, task.Task, words...),
		Searchable:  searchable(task.Datasets),
		Before:      stepsText(task.Before, beforeLimits),
		Instruction: shorten(instruction, maxStep),
		Failed:      failedText(task.Failed),
		Meant:       meantText(task.Failed, task.Datasets),
	}
	known := knownLinks(task.Task)
	var query Query
	usage, err := c.run(ctx, "query", queryShape, view, func(text string) error {
		got, err := decode(text, func(q *queryOutput) error { return q.check(task.Datasets) })
		if err != nil {
			return err
		}
		if got.SQL == "" && got.SearchDataset == "" {
			return unanswerable(got.Unanswerable, known)
		}
		query = Query{SQL: got.SQL, Reasoning: known.sanitize(got.Reasoning), Confidence: *got.Confidence}
		if got.SQL == "" {
			query.Search = &Search{Dataset: got.SearchDataset, Words: got.SearchWords, Limit: got.SearchLimit}
		}
		return nil
	})
	query.Usage = usage
	return query, err
}

func searchable(datasets []Dataset) bool {
	for _, d := range datasets {
		if d.HoldsPassages() {
			return true
		}
	}
	return false
}

func failedText(failed []FailedQuery) string {
	var out strings.Builder
	for _, f := range failed {
		fmt.Fprintf(&out, "tried: %s\nwhy it failed: %s\n\n", shorten(f.SQL, 4<<10), shorten(f.Reason, 2<<10))
	}
	return out.String()
}

type queryOutput struct {
	Reasoning, Unanswerable, SQL string
	SearchDataset                string   `json:"search_dataset"`
	SearchWords                  string   `json:"search_words"`
	SearchLimit                  int      `json:"search_limit"`
	Confidence                   *float64 // nil when it is missing
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
	case q.Confidence == nil || !(*q.Confidence >= 0 && *q.Confidence <= 1):
		return errors.New("confidence must be a number from 0 to 1")
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
	if q.SearchLimit <= 0 {
		q.SearchLimit = standardHits
	}
	q.SearchLimit = min(q.SearchLimit, maxHits)
	return nil
}

// Answer implements [Jobs]. The Markdown has no HTML, no link to a host that is
// not in the rows, and no reference to a step that there is not.
func (c *Chat) Answer(ctx context.Context, task AnswerTask) (Answer, error) {
	task.Datasets = nil // the rows are what counts
	view := struct {
		taskView
		Steps string
	}{viewOf(ctx, task.Task), stepsText(task.Steps, answerLimits)}
	known := linksIn(task.Steps)
	var answer Answer
	usage, err := c.run(ctx, "answer", nil, view, func(text string) error {
		if err := checkTexts(text); err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			return errors.New("it is empty")
		case len(text) > maxMarkdown:
			return fmt.Errorf("it is longer than %d bytes: be much briefer", maxMarkdown)
		}
		answer.Markdown = known.sanitize(citeOnly(text, len(task.Steps)))
		return nil
	})
	answer.Usage = usage
	return answer, err
}

// maxStepsText bounds what a model is shown of all steps together, in bytes.
const maxStepsText = 32 << 10

func stepsText(steps []Step, limits rowLimits) string {
	var out strings.Builder
	if len(steps) > 0 {
		limits.bytes = min(limits.bytes, maxStepsText/len(steps))
	}
	for i, step := range steps {
		fmt.Fprintf(&out, "step %d: %s\n", i+1, shorten(step.Instruction, maxStep))
		if step.Query != "" {
			fmt.Fprintf(&out, "looked up: %s\n", shorten(step.Query, 4<<10))
		}
		if step.Failure != "" {
			fmt.Fprintf(&out, "it failed: %s\n\n", shorten(step.Failure, 1000))
			continue
		}
		fmt.Fprintf(&out, "it gave %d rows:\n%s\n", len(step.Rows.Rows), rowsText(step.Rows, limits))
	}
	return out.String()
}

var citation = regexp.MustCompile(`(?i)\s?\[step\s+(\d{1,9})\]`)

// citeOnly drops references to steps that there are not.
func citeOnly(text string, steps int) string {
	return citation.ReplaceAllStringFunc(text, func(found string) string {
		n, _ := strconv.Atoi(citation.FindStringSubmatch(found)[1])
		if n < 1 || n > steps {
			return ""
		}
		return found
	})
}
