package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/internal/jsonscan"
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
	limits.bytes = min(limits.bytes, maxStepsText/max(len(steps), 1))
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

// rowLimits limit the rows in a prompt.
type rowLimits struct{ rows, bytes, value int }

var (
	beforeLimits   = rowLimits{rows: 20, bytes: 3 << 10, value: 200}
	answerLimits   = rowLimits{rows: 200, bytes: 12 << 10, value: 1000}
	describeLimits = rowLimits{rows: 20, bytes: 12 << 10, value: 200}
)

// rowsText writes rows for a prompt: the names of the columns, then an array of values for
// each row, then how many rows were left out.
func rowsText(rows Rows, limits rowLimits) string {
	columns := rows.Columns
	if len(columns) == 0 && len(rows.Rows) > 0 {
		columns = ColumnsOf(rows.Rows[0])
	}
	var out strings.Builder
	out.WriteString(jsonText(append([]string{}, columns...)) + "\n")
	if len(rows.Units) > 0 {
		fmt.Fprintf(&out, "units: %s\n", shorten(jsonText(rows.Units), limits.value))
	}
	shown := 0
	for _, row := range rows.Rows {
		line := rowText(columns, row, limits.value)
		if shown == limits.rows || out.Len()+len(line) > limits.bytes && shown > 0 {
			break
		}
		out.WriteString(shorten(line, limits.bytes) + "\n")
		shown++
	}
	switch {
	case len(rows.Rows) == 0:
		out.WriteString("(no rows)\n")
	case rows.Total > 0:
		fmt.Fprintf(&out, "(%d rows shown of %d)\n", shown, rows.Total)
	case rows.Truncated:
		fmt.Fprintf(&out, "(%d rows shown of %d; there are more)\n", shown, len(rows.Rows))
	case shown < len(rows.Rows):
		fmt.Fprintf(&out, "(%d rows shown of %d)\n", shown, len(rows.Rows))
	}
	return out.String()
}

// ColumnsOf returns the keys of a row in order, without internal ones; none when it is not a
// JSON object.
func ColumnsOf(row json.RawMessage) []string {
	var columns []string
	var object map[string]json.RawMessage
	if json.Unmarshal(row, &object) != nil {
		return nil
	}
	for name := range jsonscan.Members(row) {
		if !strings.HasPrefix(string(name), "__") {
			columns = append(columns, string(name))
		}
	}
	return columns
}

func rowText(columns []string, row json.RawMessage, limit int) string {
	var values map[string]json.RawMessage
	if json.Unmarshal(row, &values) != nil {
		return "[]"
	}
	texts := make([]string, len(columns))
	for i, column := range columns {
		texts[i] = valueText(values[column], limit)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// valueText returns a JSON value, shortened.
func valueText(value json.RawMessage, limit int) string {
	if len(value) == 0 {
		return "null"
	}
	if len(value) <= limit {
		return string(value)
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value) // a list or an object
	}
	return jsonText(shorten(text, limit))
}

// jsonText encodes a text or a list of texts, which cannot fail.
func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// clean removes invalid characters, and control characters other than line breaks and tabs.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
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
