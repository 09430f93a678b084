package dialog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader/dialog"
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
			"The share is **0.00001235**, the mean is **-84.44**, the sum is **6.02214076e23** and the version is **1.23456**. [step 1]"},
		{"a row", llm.Step{Rows: rowsOf([]string{"name", "age"}, `{"name": "Rex", "age": 3}`)}, "The name is **Rex** and the age is **3**. [step 1]"},
		{"words that were not used", llm.Step{Reasoning: "Read as: the number of dogs." + dialog.Unused([]string{"old", "<b>"}), Rows: rowsOf([]string{"count"}, `{"count": 3}`)},
			"The count is **3**. [step 1]\n\nI did not use: “old” and “&lt;b&gt;”."},
		{"nothing", llm.Step{Rows: rowsOf([]string{"name"})}, "Nothing in the data matches that. [step 1]"},
		{"values", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "A"}`, `{"name": "B"}`)}, "There are 2 names: **A** and **B**. [step 1]"},
		{"a value that is missing", llm.Step{Rows: rowsOf([]string{"birth_date"}, `{"birth_date": null}`)}, "No birth date is recorded for that. [step 1]"},
		{"a row with a gap", llm.Step{Rows: rowsOf([]string{"name", "birth_date"}, `{"name": "Rex", "birth_date": null}`)}, "The name is **Rex** and the birth date is not recorded. [step 1]"},
		{"values with a gap", llm.Step{Rows: rowsOf([]string{"city"}, `{"city": "Rome"}`, `{"city": null}`)}, "There are 2 cities: **Rome** and 1 not recorded. [step 1]"},
		{"no columns", llm.Step{Rows: rowsOf(nil, `{}`)}, "Nothing in the data matches that. [step 1]"},
		{"a failure", llm.Step{Instruction: "Why?", Failure: "No."}, "“Why?” could not be answered: No. [step 1]"},
		{"a link", llm.Step{Rows: rowsOf([]string{"n"}, `{"n": "![x](http://evil.example/?q=1) <img src=x>"}`)},
			`The n is **\!\[x\](http:\//evil.example/?q=1) &lt;img src=x&gt;**. [step 1]`},
		{"a measure", llm.Step{Rows: rowsOf([]string{"name", "__total_amount"}, `{"name": "Ada Lovelace", "__total_amount": 1234.5, "__metadata": {"score": 1}}`)},
			"The name is **Ada Lovelace**, with a total amount of **1234.5**. [step 1]"},
		{"a measure whose column is not listed", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "Ada", "__average_amount": 3}`)}, "The name is **Ada**, with an average amount of **3**. [step 1]"},
		{"a date as a measure", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "Ada", "__birth_date": "1815-12-10"}`)}, "The name is **Ada**, with birth date **1815-12-10**. [step 1]"},
		{"a measure that is missing", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "Ada", "__score_": null}`)}, "The name is **Ada**. [step 1]"},
		{"values with a measure", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "A", "__score_": 2}`, `{"name": "B", "__score_": 1}`)},
			"There are 2 names, with the score of each: **A** (2) and **B** (1). [step 1]"},
		{"rows with a measure", llm.Step{Rows: rowsOf([]string{"n", "m"}, `{"n": 1, "m": "a", "__count": 7}`, `{"n": 2, "m": "b", "__count": 5}`)},
			"There are 2 rows: [step 1]\n\n| n | m | count |\n| --- | --- | --- |\n| 1 | a | 7 |\n| 2 | b | 5 |"},
		{"rows", llm.Step{Rows: rowsOf([]string{"n", "m"}, `{"n": 1, "m": "a|b"}`, `{"n": 2, "m": null}`)},
			"There are 2 rows: [step 1]\n\n| n | m |\n| --- | --- |\n| 1 | a\\|b |\n| 2 |  |"},
		{"passages", llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 2, "text": "Dogs bark."}`)},
			"This passage matches best: [step 1]\n\n> Dogs bark.\n>\n> — a.md, passage 2"},
		{"a passage with a heading", llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 1, "text": "## Dogs\n\nThey *bark*."}`)},
			"This passage matches best: [step 1]\n\n> **Dogs** They \\*bark\\*.\n>\n> — a.md, passage 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{test.step}}).Markdown; got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAnswerOfSeveralSteps(t *testing.T) {
	t.Parallel()
	got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{
		{Instruction: "How many dogs are there?", Rows: rowsOf([]string{"count"}, `{"count": 3}`)},
		{Instruction: "Who owns <Rex>?", Failure: "Not understood: “owns”."},
	}}).Markdown
	const want = "How many dogs are there? The count is **3**. [step 1]\n\n“Who owns &lt;Rex&gt;?” could not be answered: Not understood: “owns”. [step 2]"
	if got != want {
		t.Errorf("got %q", got)
	}
	if got := dialog.Answer(llm.AnswerTask{}).Markdown; got == "" {
		t.Error("no answer to no steps")
	}
}

func TestAnswerLimits(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf(`{"a": %d, "b": %q}`, i, strings.Repeat("x", 5000)))
	}
	got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{{Rows: rowsOf([]string{"a", "b"}, lines...)}}}).Markdown
	if len(got) > 5000 || !strings.HasPrefix(got, "There are 1000 rows; the first 10 are: [step 1]") {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
}
