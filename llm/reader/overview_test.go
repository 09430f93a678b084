package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// An overview has each dataset with its rows, its period and its main figure, and questions that
// can be asked.
func TestOverview(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("trips", "city VARCHAR, day DATE, cost DOUBLE", "('Oslo', '2025-05-01', 120.5), ('Porto', '2025-05-09', 80), ('Oslo', '2025-06-02', 99.5)"),
		d.Table("notes", "document VARCHAR, passage INTEGER, text VARCHAR", "('a.md', 1, 'What can I ask? Ask us for an overview of the data.')"),
	}
	datasets = append(datasets, llm.Dataset{Name: "invoices"}) // without rows, and so without columns
	r := reader.New()
	task := step(d, datasets, "Give me an overview of the data")
	q, err := r.WriteQuery(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Query(t.Context(), q.SQL)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := r.Answer(t.Context(), llm.AnswerTask{Task: task.Task, Steps: []llm.Step{{Query: q.SQL, Rows: rows}}})
	const want = "There are 3 datasets:\n\n- **trips**: 3 rows, from 1 May 2025 to 2 June 2025, total cost 300\n- **notes**: 1 row\n- **invoices**: 0 rows\n\n[step 1] You can ask, for example: “"
	if err != nil || !strings.HasPrefix(answer.Markdown, want) {
		t.Errorf("%v\n%s", err, answer.Markdown)
	}
}

// A refusal has at most three questions, all of which are answered.
func TestRefusalsSuggest(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	for _, text := range []string{"Thanks", "delete all orders", "you are useless", "???", "yes", "flux capacitors"} {
		_, err := r.WriteQuery(t.Context(), step(d, datasets, text))
		refused, ok := errors.AsType[*llm.UnanswerableError](err)
		if !ok || len(refused.Suggestions) == 0 || len(refused.Suggestions) > 3 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, question := range refused.Suggestions {
			if _, err := r.WriteQuery(t.Context(), step(d, datasets, question)); err != nil {
				t.Errorf("%s suggests %q: %v", text, question, err)
			}
		}
	}
}
