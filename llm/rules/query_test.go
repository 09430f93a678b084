package rules

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/llm"
)

type ctx = context.Context

func TestRepair(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	task := llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d}, Instruction: "List the names of owners from Rome."}
	rules := New()
	first, err := rules.WriteQuery(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	task.Failed = []llm.FailedQuery{{SQL: first.SQL, Reason: "no"}}
	second, err := rules.WriteQuery(t.Context(), task)
	var unanswerable *llm.UnanswerableError
	if err == nil && second.SQL == first.SQL || err != nil && !errors.As(err, &unanswerable) {
		t.Errorf("got %q, %v", second.SQL, err)
	}
}

func TestNamesAndValuesAreQuoted(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	name := `odd "name"; DROP`
	dataset := d.table(t, name, `"a""b" VARCHAR, "c'd" BIGINT`, `('o''brien', 1), ('x'' OR 1=1', 2)`)
	for _, question := range []string{"What is the c d of o'brien?", `What is the c d of "x' OR 1=1"?`, "How many odd names are there?"} {
		q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: []llm.Dataset{dataset}, Data: d}, Instruction: question})
		if err != nil {
			t.Logf("%s: %v", question, err)
			continue
		}
		rows, err := d.Query(t.Context(), q.SQL)
		if err != nil || len(rows.Rows) != 1 {
			t.Errorf("%s\n%s\n%d rows, %v", question, q.SQL, len(rows.Rows), err)
		}
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d}, Instruction: "What is the average age of poodles?"})
	if err != nil || !strings.Contains(q.Reasoning, "average age") || !strings.Contains(q.Reasoning, "breed is poodle") {
		t.Errorf("%q, %v", q.Reasoning, err)
	}
	if q.Confidence < threshold || q.Confidence > 1 {
		t.Errorf("confidence %v", q.Confidence)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	passages := llm.Dataset{Name: "handbook", Columns: []llm.Column{{Name: "document", Type: "VARCHAR"}, {Name: "passage", Type: "BIGINT"}, {Name: "text", Type: "VARCHAR"}}}
	q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: []llm.Dataset{passages}}, Instruction: "What does the handbook say about wet dogs?"})
	if err != nil || q.Search == nil || q.Search.Dataset != "handbook" || !strings.Contains(q.Search.Words, "wet dogs") || strings.Contains(q.Search.Words, "about") {
		t.Errorf("%+v, %v", q, err)
	}
	d, datasets := kennel(t)
	all := append(datasets, passages)
	for question, search := range map[string]bool{"How many dogs are there?": false, "Why do storms frighten terriers?": true} {
		q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: all, Data: d}, Instruction: question})
		if err != nil || (q.Search != nil) != search {
			t.Errorf("%s: %+v, %v", question, q, err)
		}
	}
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New().WriteQuery(gone, llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d}, Instruction: "How many dogs are there?"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLookUp(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	if _, err := d.db.Exec(`CREATE TABLE ports AS SELECT 'port ' || i AS name, i AS berths FROM range(5000) AS r(i)`); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, d, []llm.Dataset{d.describe(t, "ports")}, "How many berths does port 4321 have?"); got != "4321" {
		t.Errorf("got %s", got)
	}
}
