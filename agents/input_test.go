package agents_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
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

const otherSQL = "SELECT count(*) FROM orders"

// executors are both agents.
var executors = map[string]func(agents.Config) a2asrv.AgentExecutor{
	"nl2ql":     func(c agents.Config) a2asrv.AgentExecutor { return nl2ql.New(c) },
	"assistant": func(c agents.Config) a2asrv.AgentExecutor { return assistant.New(c) },
}

// withAnswer returns a task that waits for input with the answer, as our host stores it, or as
// the SDK's does: there the question is not in the history yet.
func withAnswer(task *a2a.Task, answer string, bySDK bool) *a2a.Task {
	answered := *task
	message := &a2a.Message{Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(answer)}}
	if bySDK {
		answered.History = append(slices.Clip(task.History), message)
		return &answered
	}
	answered.History = append(slices.Clip(task.History), task.Status.Message, message)
	answered.Status = a2a.TaskStatus{State: a2a.TaskStateSubmitted}
	return &answered
}

// ambiguous has two readings of the question.
func ambiguous() *agentstest.Script {
	s := script()
	s.Steps = s.Steps[:1]
	s.Results[otherSQL] = agentstest.Rows(otherSQL, []string{"n"}, `{"n":7}`)
	s.Write = func(task llm.QueryTask) (llm.Query, error) {
		if len(task.Failed) > 0 {
			return llm.Query{SQL: sql, Reasoning: "The other one failed.", Confidence: 0.5}, nil
		}
		return llm.Query{SQL: sql, Reasoning: "Read as: orders by total.", Confidence: 0.4, Readings: []llm.Reading{
			{SQL: sql, Words: "orders by total"}, {SQL: otherSQL, Words: "number of orders"},
		}}, nil
	}
	return s
}

// waiting has an agent ask which reading is meant.
func waiting(t *testing.T, s *agentstest.Script, executor func(agents.Config) a2asrv.AgentExecutor, raw bool) *a2a.Task {
	t.Helper()
	task := s.Fold(t, s.Run(t, executor(s.Config()), nil), raw)
	if task.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("the agent did not ask: %s", agentstest.Line(t, task))
	}
	return task
}

// each runs a test for both agents, on stored tasks of our host and of the SDK's.
func each(t *testing.T, test func(t *testing.T, name string, executor func(agents.Config) a2asrv.AgentExecutor, bySDK bool)) {
	t.Helper()
	for name, executor := range executors {
		for host, bySDK := range map[string]bool{"ours": false, "SDK": true} {
			t.Run(name+" "+host, func(t *testing.T) {
				t.Parallel()
				test(t, name, executor, bySDK)
			})
		}
	}
}

// The answer chooses the query, and the run goes on from any point after it with exactly what
// is missing.
func TestChosenReading(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string, executor func(agents.Config) a2asrv.AgentExecutor, bySDK bool) {
		s := ambiguous()
		task := waiting(t, s, executor, !bySDK)
		if len(s.Ran) > 0 {
			t.Errorf("ran before the answer: %q", s.Ran)
		}
		answered := withAnswer(task, "the second one, please", bySDK)
		s = ambiguous()
		events := s.Run(t, executor(s.Config()), answered)
		golden.Assert(t, name+"-chosen.jsonl", golden.Scrub(agentstest.Lines(t, events)))
		if !slices.Equal(s.Ran, []string{otherSQL}) || slices.ContainsFunc(s.Asked, func(job string) bool { return strings.HasPrefix(job, "query") }) {
			t.Errorf("ran %q, asked for %q", s.Ran, s.Asked)
		}
		for at := range events {
			s = ambiguous()
			rest := s.Run(t, executor(s.Config()), agentstest.FoldInto(t, answered, events[:at+1], !bySDK))
			got := agentstest.Lines(t, slices.Concat(events[:at+1], rest))
			if want := agentstest.Lines(t, events); string(golden.Scrub(got)) != string(golden.Scrub(want)) {
				t.Errorf("taken over after event %d:\n%s\nwant\n%s", at+1, got, want)
			}
		}
	})
}

// An answer that is none of the options has the question asked again, and is never run.
func TestAnswersThatChooseNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, executor func(agents.Config) a2asrv.AgentExecutor, bySDK bool) {
		s := ambiguous()
		s.Results["SELECT secret FROM others"] = agentstest.Rows("", nil)
		task := waiting(t, s, executor, true)
		for _, answer := range []string{"SELECT secret FROM others", "neither", "3"} {
			answered := withAnswer(task, answer, bySDK)
			task = agentstest.FoldInto(t, answered, s.Run(t, executor(s.Config()), answered), true)
			if text := task.Status.Message.Parts[0].Text(); task.Status.State != a2a.TaskStateInputRequired || !strings.Contains(text, "2. number of orders") {
				t.Fatalf("%q: %s", answer, agentstest.Line(t, task))
			}
		}
		right := withAnswer(task, "1", bySDK)
		if end := agentstest.FoldInto(t, right, s.Run(t, executor(s.Config()), right), true); end.Status.State != a2a.TaskStateCompleted {
			t.Errorf("a right answer in the end: %s", agentstest.Line(t, end))
		}
		s.Ran = nil
		wrong := withAnswer(task, "both", bySDK)
		end := agentstest.FoldInto(t, wrong, s.Run(t, executor(s.Config()), wrong), true)
		if line := string(agentstest.Line(t, end)); end.Status.State != a2a.TaskStateFailed || !strings.Contains(line, `"INPUT_NOT_UNDERSTOOD"`) {
			t.Errorf("too many answers: %s", line)
		}
		if len(s.Ran) > 0 {
			t.Errorf("ran %q", s.Ran)
		}
	})
}

// Whoever must not be asked gets the most likely reading, and is told of the other.
func TestNeverAsk(t *testing.T) {
	t.Parallel()
	for name, executor := range executors {
		s := ambiguous()
		events := s.Run(t, executor(s.Config()), nil, func(q *domain.Question) { q.NeverAsk = true })
		task := s.Fold(t, events, true)
		const reading = "Read as: orders by total. Is that right? It could also mean: number of orders."
		last := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
		if task.Status.State != a2a.TaskStateCompleted || !slices.Equal(s.Ran, []string{sql}) || last.Metadata["reading"] != reading {
			t.Errorf("%s: ran %q, read as %v: %s", name, s.Ran, last.Metadata["reading"], agentstest.Line(t, task))
		}
		if answer := agents.Response(task); !strings.HasSuffix(answer, reading) {
			t.Errorf("%s answers %q", name, answer)
		}
		if last.Metadata["certainty"] != "likely" || len(last.Metadata["alternatives"].([]any)) != 1 {
			t.Errorf("%s: %v", name, last.Metadata)
		}
		// Who sets a least confidence gets no less.
		s = ambiguous()
		refused := s.Fold(t, s.Run(t, executor(s.Config()), nil, func(q *domain.Question) { q.NeverAsk, q.MinConfidence = true, new(0.5) }), true)
		if line := string(agentstest.Line(t, refused)); len(s.Ran) > 0 || !strings.Contains(line, "several ways") || !strings.Contains(line, `"suggestions":["orders by total","number of orders"]`) {
			t.Errorf("%s ran %q: %s", name, s.Ran, line)
		}
	}
}

// TestLikelyAnswer answers with a likely reading, and chooses another one of its readings with the
// next question, by its words or its number. The choice is feedback.
func TestLikelyAnswer(t *testing.T) {
	t.Parallel()
	for name, executor := range executors {
		asked := func() *agentstest.Script {
			s := ambiguous()
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				if task.MinConfidence == nil || *task.MinConfidence != 0.4 {
					t.Errorf("%s: the least confidence is %v", name, task.MinConfidence)
				}
				return llm.Query{SQL: sql, Reasoning: "I read this as: orders by total.", Confidence: 0.55, Others: []llm.Reading{{SQL: otherSQL, Words: "number of orders"}}}, nil
			}
			return s
		}
		s := asked()
		events := s.Run(t, executor(s.Config()), nil, func(q *domain.Question) { q.MinConfidence = new(0.4) })
		last := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
		want := []any{map[string]any{"id": "1", "label": "number of orders", "query": otherSQL}}
		if m := last.Metadata; m["confidence"] != 0.55 || m["certainty"] != "likely" || !reflect.DeepEqual(m["alternatives"], want) || m["answered"] != true {
			t.Errorf("%s ends with %v", name, m)
		}
		task := s.Fold(t, events, true)
		if answer := agents.Response(task); !strings.Contains(answer, "I read this as: orders by total. Is that right?") {
			t.Errorf("%s answers %q", name, answer)
		}
		result, err := agents.Result(task)
		if err != nil || !strings.Contains(string(result), `"confidence":0.55,"certainty":"likely","alternatives":[{"id":"1","label":"number of orders","query":"SELECT count(*) FROM orders"}]`) {
			t.Errorf("%s: %s, %v", name, result, err)
		}
		// What follows a choice follows the question with the chosen query.
		s = asked()
		s.Turns = []domain.Run{agentstest.Turn("r1", "orders?", result), agentstest.Turn("r2", "1", json.RawMessage(`{"response":"7","steps":[{"query":"`+otherSQL+`"}]}`))}
		s.Run(t, executor(s.Config()), nil, func(q *domain.Question) { q.MinConfidence = new(0.4) })
		if got := s.Written.Earlier; len(got) != 1 || got[0].Question != "orders?" || !slices.Equal(got[0].Queries, []string{otherSQL}) {
			t.Errorf("%s remembers %+v", name, got)
		}
		for question, ran := range map[string]string{"Number of orders": otherSQL, "1": otherSQL, "Number of orders by city": sql, "orders": sql} {
			s := asked()
			s.Question, s.Turns = question, []domain.Run{agentstest.Turn("r1", "orders?", result)}
			s.Steps = []string{question}
			events := s.Run(t, executor(s.Config()), nil, func(q *domain.Question) { q.MinConfidence = new(0.4) })
			if !slices.Equal(s.Ran, []string{ran}) {
				t.Errorf("%s, %s: ran %q", name, question, s.Ran)
			}
			certainty := events[len(events)-1].(*a2a.TaskStatusUpdateEvent).Metadata["certainty"]
			chosen := slices.Equal(s.Rated, []domain.Rating{{RunID: "r1", Comment: "Another reading was chosen: number of orders"}})
			if isChoice := ran == otherSQL; chosen != isChoice || !isChoice && len(s.Rated) > 0 || (certainty == "sure") != isChoice {
				t.Errorf("%s, %s: rated %+v, %v", name, question, s.Rated, certainty)
			}
		}
	}
}

// A chosen query that fails, since the data changed, is written anew.
func TestChosenQueryFails(t *testing.T) {
	t.Parallel()
	for name, executor := range executors {
		s := ambiguous()
		answered := withAnswer(waiting(t, s, executor, true), "number of orders", false)
		delete(s.Results, otherSQL)
		s.Run(t, executor(s.Config()), answered)
		if !slices.Equal(s.Ran, []string{otherSQL, sql}) {
			t.Errorf("%s ran %q", name, s.Ran)
		}
	}
}

// A question of the host itself, and its answer, are no part of what the agent said.
func TestAskedByTheHost(t *testing.T) {
	t.Parallel()
	for name, executor := range executors {
		s := script()
		first := s.Fold(t, nil, true)
		first.Status = a2a.TaskStatus{State: a2a.TaskStateInputRequired, Message: a2a.NewMessage(a2a.MessageRoleAgent,
			a2a.NewTextPart("Which namespace?"), a2a.NewDataPart(json.RawMessage(`{"name":"namespace","options":[{"id":"ann/shop","label":"ann/shop"}]}`)))}
		answered := withAnswer(first, "ann/shop", false)
		events := s.Run(t, executor(s.Config()), answered)
		for at := range events {
			s = script()
			rest := s.Run(t, executor(s.Config()), agentstest.FoldInto(t, answered, events[:at+1], true))
			got := agentstest.Lines(t, slices.Concat(events[:at+1], rest))
			if want := agentstest.Lines(t, events); string(golden.Scrub(got)) != string(golden.Scrub(want)) {
				t.Errorf("%s, taken over after event %d:\n%s\nwant\n%s", name, at+1, got, want)
			}
		}
	}
}

func TestInputOf(t *testing.T) {
	t.Parallel()
	s := ambiguous()
	input := agents.InputOf(waiting(t, s, executors["nl2ql"], false).Status)
	want := []domain.InputOption{{ID: "1", Label: "orders by total", Query: sql}, {ID: "2", Label: "number of orders", Query: otherSQL}}
	if input == nil || input.Question != "Which do you mean?" || !slices.Equal(input.Options, want) {
		t.Errorf("got %+v", input)
	}
	if input := agents.InputOf(a2a.TaskStatus{State: a2a.TaskStateWorking}); input != nil {
		t.Errorf("a working task asks %+v", input)
	}
	if input := agents.InputOf(a2a.TaskStatus{State: a2a.TaskStateAuthRequired}); input == nil || len(input.Options) > 0 {
		t.Errorf("a task without a message asks %+v", input)
	}
}
