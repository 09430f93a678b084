package agents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/agents"
	"parley/agents/assistant"
	"parley/agents/nl2ql"
	"parley/cmd/parley/e2e/helpers/agentstest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/internal/domain"
	"parley/llm"
)

const sql = "SELECT * FROM orders WHERE total > 1 AND total < 5"

func script() *agentstest.Script {
	return &agentstest.Script{
		Question: "Which orders are < 5?",
		Data:     agentstest.Shop(),
		Results:  map[string]domain.QueryResult{sql: agentstest.Rows(sql, []string{"z", "a"}, `{"z":"<b>","a":"9007199254740993","__metadata":{"score":1.0}}`)},
		Steps:    []string{"Find them", "Find them again"}, Reasoning: "Twice is better.",
		Markdown: "One & only [step 1].",
		Write: func(llm.QueryTask) (llm.Query, error) {
			return llm.Query{SQL: sql, Reasoning: "By total.", Confidence: 1}, nil
		},
	}
}

// charted is script with rows that a chart shows, in a unit.
func charted() *agentstest.Script {
	s := script()
	s.Steps, s.Units = s.Steps[:1], map[string]string{"Total": "€", "other": "kg"}
	s.Results[sql] = domain.QueryResult{
		SQL: sql, Columns: []domain.Column{{Name: "customer", Type: "VARCHAR"}, {Name: "sum(total)", Type: "DOUBLE"}, {Name: "count", Type: "BIGINT"}},
		Rows: []json.RawMessage{
			json.RawMessage(`{"customer":"ann","sum(total)":7.5,"count":2,"__metadata":{"score":1.0}}`),
			json.RawMessage(`{"customer":"bob","sum(total)":2,"count":1,"__metadata":{"score":1.0}}`),
		},
	}
	return s
}

// rowless is script with a result that has columns and no rows.
func rowless() *agentstest.Script {
	s := script()
	s.Steps, s.Results[sql] = s.Steps[:1], agentstest.Rows(sql, []string{"z", "a"})
	return s
}

func unanswerable() *agentstest.Script {
	s := script()
	s.Write = func(llm.QueryTask) (llm.Query, error) { return llm.Query{}, llm.Unanswerable("Not there.") }
	return s
}

func failing() *agentstest.Script {
	s := script()
	delete(s.Results, sql)
	return s
}

// Readers of runs get the same progress from an agent's events whether these are read
// back from the log or just made.
func TestProjections(t *testing.T) {
	t.Parallel()
	for name, executor := range map[string]func(agents.Config) a2asrv.AgentExecutor{
		"nl2ql":     func(c agents.Config) a2asrv.AgentExecutor { return nl2ql.New(c) },
		"assistant": func(c agents.Config) a2asrv.AgentExecutor { return assistant.New(c) },
	} {
		for kind, script := range map[string]func() *agentstest.Script{"answered": script, "charted": charted, "rowless": rowless, "unanswerable": unanswerable, "failing": failing} {
			t.Run(name+"-"+kind, func(t *testing.T) {
				t.Parallel()
				s := script()
				events := s.Run(t, executor(s.Config()), nil)
				written := writeProgress(t, s, events)
				golden.Assert(t, name+"-"+kind+".txt", written)
				for i, event := range events {
					events[i] = agentstest.Reread(t, event, true)
				}
				if again := writeProgress(t, s, events); !bytes.Equal(again, written) {
					t.Errorf("read back:\n%s\nat first:\n%s", again, written)
				}
			})
		}
	}
}

// writeProgress writes all progress of a run.
func writeProgress(t *testing.T, s *agentstest.Script, events []a2a.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	progress := agents.NewProgress(s.Question)
	for i, event := range events {
		fmt.Fprintf(&b, "event %d: %s\n", i+1, agents.LastNode(event))
		for _, p := range progress(event) {
			line, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	task := s.Fold(t, events, true)
	result, err := agents.Result(task)
	fmt.Fprintf(&b, "result: %s, %v\nfailure: %s\n", result, err, agents.Failure(task))
	return b.Bytes()
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	event := a2a.NewStatusUpdateEvent(a2a.TaskInfo{}, a2a.TaskStateCanceled, nil)
	reports := agents.NewProgress("Why?")(event)
	if len(reports) != 1 || reports[0].Kind != domain.RunHasFailed || reports[0].Text != "canceled" {
		t.Errorf("progress: %+v", reports)
	}
	if got := agents.Failure(&a2a.Task{Status: event.Status}); got != "canceled" {
		t.Errorf("the failure is %q", got)
	}
	if got := agents.Failure(&a2a.Task{Status: a2a.TaskStatus{State: a2a.TaskStateFailed}}); got != "failed" {
		t.Errorf("a failure without words is %q", got)
	}
}
