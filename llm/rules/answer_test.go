package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/llm"
)

func rowsOf(columns []string, lines ...string) llm.Rows {
	rows := llm.Rows{Columns: columns}
	for _, l := range lines {
		rows.Rows = append(rows.Rows, json.RawMessage(l))
	}
	return rows
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		step llm.Step
		want string
	}{
		{"a figure", llm.Step{Rows: rowsOf([]string{"count"}, `{"count": 3}`)}, "The count is **3**. [step 1]"},
		{"a long figure", llm.Step{Rows: rowsOf([]string{"share", "mean", "sum", "version"}, `{"share": 0.0000123456, "mean": -84.4400384985563, "sum": 6.02214076e23, "version": "1.23456"}`)},
			"The share is **0.00001235**, mean is **-84.44**, sum is **6.02214076e23** and version is **1.23456**. [step 1]"},
		{"a row", llm.Step{Rows: rowsOf([]string{"name", "age"}, `{"name": "Rex", "age": 3}`)}, "The name is **Rex** and age is **3**. [step 1]"},
		{"nothing", llm.Step{Rows: rowsOf([]string{"name"})}, "Nothing in the data matches that. [step 1]"},
		{"values", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "A"}`, `{"name": "B"}`)}, "There are 2 values of name: **A** and **B**. [step 1]"},
		{"a failure", llm.Step{Instruction: "Why?", Failure: "No."}, "“Why?” could not be looked up: No. [step 1]"},
		{"a link", llm.Step{Rows: rowsOf([]string{"n"}, `{"n": "![x](http://evil.example/?q=1) <img src=x>"}`)},
			`The n is **\!\[x\](http:\//evil.example/?q=1) &lt;img src=x&gt;**. [step 1]`},
		{"rows", llm.Step{Rows: rowsOf([]string{"n", "m"}, `{"n": 1, "m": "a|b"}`, `{"n": 2, "m": null}`)},
			"There are 2 rows: [step 1]\n\n| n | m |\n| --- | --- |\n| 1 | a\\|b |\n| 2 |  |"},
		{"passages", llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 2, "text": "Dogs bark."}`)},
			"The passages that match best: [step 1]\n\n> Dogs bark.\n>\n> — a.md, passage 2"},
		{"a passage with a heading", llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 1, "text": "## Dogs\n\nThey *bark*."}`)},
			"The passages that match best: [step 1]\n\n> **Dogs** They \\*bark\\*.\n>\n> — a.md, passage 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := New().Answer(t.Context(), llm.AnswerTask{Steps: []llm.Step{test.step}})
			if err != nil || got.Markdown != test.want {
				t.Errorf("got %q, %v", got.Markdown, err)
			}
		})
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf(`{"a": %d, "b": %q}`, i, strings.Repeat("x", 5000)))
	}
	got, err := New().Answer(t.Context(), llm.AnswerTask{Steps: []llm.Step{{Rows: rowsOf([]string{"a", "b"}, lines...)}}})
	if err != nil || len(got.Markdown) > 5000 || !strings.HasPrefix(got.Markdown, "There are 1000 rows; the first 10 are: [step 1]") {
		t.Errorf("%d bytes, %v", len(got.Markdown), err)
	}
}
