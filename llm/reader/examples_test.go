package reader_test

import (
	"testing"

	"parley/llm"
	"parley/llm/reader"
)

// TestExampleQuestion asks the examples of all datasets.
func TestExampleQuestion(t *testing.T) {
	t.Parallel()
	r, found := reader.New(), 0
	d, datasets := sweets(t)
	for _, about := range datasets {
		task := step(d, datasets, "").Task
		question, err := r.ExampleQuestion(t.Context(), task, about)
		if err != nil {
			t.Fatal(err)
		}
		if question == "" {
			continue
		}
		found++
		if query, err := r.WriteQuery(t.Context(), step(d, datasets, question)); err != nil {
			t.Errorf("%s: %q: %v", about.Name, question, err)
		} else {
			t.Logf("%s: %q: %s", about.Name, question, query.SQL)
		}
	}
	if found == 0 {
		t.Error("there are no examples")
	}
	passages := llm.Dataset{Name: "notes", Columns: []llm.Column{{Name: "document"}, {Name: "passage"}, {Name: "text"}}}
	if question, err := r.ExampleQuestion(t.Context(), step(d, datasets, "").Task, passages); question != "" || err != nil {
		t.Errorf("passages: %q, %v", question, err)
	}
}
