package reader_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"parley/llm"
	"parley/llm/reader"
)

// TestReaderFirst asks the model only where the reader is not sure.
func TestReaderFirst(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		http.Error(rw, "no", http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	model, err := llm.Open(t.Context(), llm.Config{Spec: "openai:test", APIKey: "sk-1234567890", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := reader.New()
	first := reader.NewFirst(r, llm.NewChat(model, llm.ChatConfig{Facts: r.Facts}))
	d, datasets := sweets(t)
	task := step(d, datasets, "How many orders are there?")
	task.Question = task.Instruction
	low := 0.1
	task.MinConfidence = &low
	plan, err := first.Plan(t.Context(), task.Task)
	if err != nil || len(plan.Steps) != 1 || plan.Steps[0] != task.Question {
		t.Fatalf("%+v, %v", plan, err)
	}
	q, err := first.WriteQuery(t.Context(), task)
	if err != nil || q.SQL != `SELECT count(*) AS "count" FROM "orders"` {
		t.Fatalf("%+v, %v", q, err)
	}
	rows, err := d.Query(t.Context(), q.SQL)
	if err != nil {
		t.Fatal(err)
	}
	done := llm.Step{Instruction: plan.Steps[0], Query: q.SQL, Rows: rows}
	answer, err := first.Answer(t.Context(), llm.AnswerTask{Task: task.Task, Steps: []llm.Step{done}})
	if err != nil || !strings.Contains(answer.Markdown, "4") || calls.Load() != 0 {
		t.Fatalf("%+v, %v, %d calls", answer, err, calls.Load())
	}

	unclear := task
	unclear.Question, unclear.Instruction = "Which of them will be worth it?", "Which of them will be worth it?"
	failed := task
	failed.Failed = []llm.FailedQuery{{SQL: q.SQL, Reason: "too large"}}
	done.Query += " LIMIT 1"
	for name, call := range map[string]func() error{
		"plan":         func() error { _, err := first.Plan(t.Context(), unclear.Task); return err },
		"query":        func() error { _, err := first.WriteQuery(t.Context(), unclear); return err },
		"failed query": func() error { _, err := first.WriteQuery(t.Context(), failed); return err },
		"other's query": func() error {
			_, err := first.Answer(t.Context(), llm.AnswerTask{Task: task.Task, Steps: []llm.Step{done}})
			return err
		},
	} {
		before := calls.Load()
		if err := call(); !errors.Is(err, llm.ErrUnavailable) || calls.Load() == before {
			t.Errorf("%s: %v, %d calls", name, err, calls.Load()-before)
		}
	}
}
