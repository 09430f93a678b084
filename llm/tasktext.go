package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxHints = 4 << 10
	// maxTurns is how many turns of a conversation a prompt has.
	maxTurns = 5
	// maxStepsText limits the rows of all steps in a prompt, in bytes.
	maxStepsText = 24 << 10
)

// taskView is a task as the prompts show it.
type taskView struct {
	Now, Schema, Earlier, Hints, Question string
}

func (c *Chat) viewOf(ctx context.Context, task Task, words ...string) taskView {
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
	view.Schema = c.schemaText(ctx, task, words...)
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

func failedText(failed []FailedQuery) string {
	var out strings.Builder
	for _, f := range failed {
		fmt.Fprintf(&out, "tried: %s\nwhy it failed: %s\n\n", shorten(f.SQL, 4<<10), shorten(f.Reason, 2<<10))
	}
	return out.String()
}

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

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func unanswerable(reason string, known links) error {
	return Unanswerable("%s", known.sanitize(shorten(strings.TrimSpace(clean(reason)), maxReasoning)))
}

// checkTexts refuses zero bytes and invalid UTF-8.
func checkTexts(texts ...string) error {
	for _, text := range texts {
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return errors.New("a text holds a zero byte or is not UTF-8")
		}
	}
	return nil
}
