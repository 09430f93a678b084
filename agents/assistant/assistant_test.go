package assistant_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"parley/agents"
	"parley/agents/assistant"
	"parley/cmd/parley/e2e/helpers/agentstest"
	"parley/internal/domain"
	"parley/llm"
)

func newExecutor(config agents.Config) a2asrv.AgentExecutor { return assistant.New(config) }

// script answers as many steps as are planned, each with a query that is named
// for it.
func script(steps ...string) *agentstest.Script {
	s := &agentstest.Script{
		Question: "Who bought most, and why?",
		Data:     agentstest.Shop(),
		Results:  map[string]domain.QueryResult{},
		Steps:    steps, Reasoning: "First this, then that.",
		Markdown: "**ann** did [step 1].",
		Write: func(task llm.QueryTask) (llm.Query, error) {
			return llm.Query{SQL: "SELECT '" + task.Instruction + "'", Reasoning: fmt.Sprintf("Knowing %d.", len(task.Before)), Confidence: 1}, nil
		},
	}
	for i, step := range steps {
		sql := "SELECT '" + step + "'"
		s.Results[sql] = agentstest.Rows(sql, []string{"who", "total"}, fmt.Sprintf(`{"who":"ann","total":%d,"__metadata":{"score":1.0}}`, i))
	}
	return s
}

func scripts() map[string]func() *agentstest.Script {
	change := func(steps []string, change func(*agentstest.Script)) func() *agentstest.Script {
		return func() *agentstest.Script {
			s := script(steps...)
			change(s)
			return s
		}
	}
	three := []string{"Find who bought most", "Count what they bought", "Find notes about them"}
	notNotes := func(task llm.QueryTask) (llm.Query, error) {
		if strings.Contains(task.Instruction, "notes") {
			return llm.Query{}, llm.Unanswerable("Notes have no customers.")
		}
		return llm.Query{SQL: "SELECT '" + task.Instruction + "'"}, nil
	}
	return map[string]func() *agentstest.Script{
		"one-step":    func() *agentstest.Script { return script("Find who bought most") },
		"three-steps": func() *agentstest.Script { return script(three...) },
		"guarded": change(three[:2], func(s *agentstest.Script) {
			for sql, result := range s.Results {
				result.SQL, result.Rewritten, result.Notes = sql+" WHERE true", true, []string{"2 rows of `orders` are left out: they have no match in `customers`."}
				s.Results[sql] = result
			}
		}),
		"failing-step":      change(three, func(s *agentstest.Script) { delete(s.Results, "SELECT 'Count what they bought'") }),
		"unanswerable-step": change(three, func(s *agentstest.Script) { s.Write = notNotes }),
		"unanswerable": change(three[:2], func(s *agentstest.Script) {
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				return llm.Query{}, llm.Unanswerable("%s: the data does not say", task.Instruction)
			}
		}),
		"suggestions": change(three[:1], func(s *agentstest.Script) {
			s.Write = func(llm.QueryTask) (llm.Query, error) {
				return llm.Query{}, &llm.UnanswerableError{Reason: "Not understood: “prize”. Did you mean “price”?", Words: []string{"prize"},
					Suggestions: []string{"What is the total price?", "![x](http://evil.example)"}}
			}
		}),
		"unanswerable-plan": change(nil, func(s *agentstest.Script) {
			s.PlanError = llm.Unanswerable("Nothing here speaks of it.")
			s.Write = func(llm.QueryTask) (llm.Query, error) { return llm.Query{}, s.PlanError }
		}),
		"two-readings": change(three, func(s *agentstest.Script) {
			write := s.Write
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				query, err := write(task)
				if strings.Contains(task.Instruction, "Count") {
					query.Readings = []llm.Reading{{SQL: query.SQL, Words: "number of orders"}, {SQL: "SELECT sum(total)", Words: "sum of total"}}
				}
				return query, err
			}
		}),
		"verified": change(three, func(s *agentstest.Script) {
			s.Verified, s.Results["SELECT 7"] = "SELECT 7", agentstest.Rows("SELECT 7", []string{"7"}, `{"7":7}`)
		}),
		"verified-gone": change(three[:1], func(s *agentstest.Script) { s.Verified = "SELECT * FROM gone" }),
		"no-data":       change(nil, func(s *agentstest.Script) { s.Data = nil }),
		"follow-up": change(three[:1], func(s *agentstest.Script) {
			s.Turns = []domain.Run{agentstest.Turn("", "Who bought?", json.RawMessage(`{"response":"ann","steps":[{"query":"SELECT 1"}]}`))}
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				return llm.Query{SQL: "SELECT '" + task.Instruction + "'", Reasoning: fmt.Sprintf("Before: %v", task.Earlier)}, nil
			}
		}),
		"search-step": change(three, func(s *agentstest.Script) {
			write := s.Write
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				if strings.Contains(task.Instruction, "notes") {
					return llm.Query{Search: &llm.Search{Dataset: "notes", Words: "ann"}}, nil
				}
				return write(task)
			}
			s.Found = agentstest.Rows("WITH counted …", []string{"text"}, `{"text":"ann likes apples","__metadata":{"score":0.9}}`)
		}),
		"model-down":   change(three[:1], func(s *agentstest.Script) { s.PlanError = llm.ErrUnavailable }),
		"model-silent": change(three[:1], func(s *agentstest.Script) { s.Markdown = " \n" }),
		"step-breaks": change(three[:1], func(s *agentstest.Script) {
			s.Errors = map[string]error{"SELECT '" + three[0] + "'": errors.New("secret internals")}
		}),
		"no-answer": change(three[:1], func(s *agentstest.Script) { s.AnswerError = llm.Unanswerable("That does not say why.") }),
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	agentstest.Streams(t, scripts(), newExecutor)
}

func TestResume(t *testing.T) {
	t.Parallel()
	agentstest.Resume(t, scripts(), newExecutor)
}

// What the jobs are given after a takeover is what they would have been given.
func TestResumedJobsSeeTheSame(t *testing.T) {
	t.Parallel()
	for name, script := range scripts() {
		first := script()
		events := first.Run(t, newExecutor(first.Config()), nil)
		for at := range events {
			s := script()
			s.Run(t, newExecutor(s.Config()), s.Fold(t, events[:at+1], true))
			if diff := cmp.Diff(first.Answered.Steps, s.Answered.Steps); diff != "" && s.Answered.Steps != nil {
				t.Errorf("%s after event %d: the answer rests on other steps than at first (-) now (+):\n%s", name, at+1, diff)
			}
			if diff := cmp.Diff(first.Written.Before, s.Written.Before); diff != "" && s.Written.Instruction == first.Written.Instruction {
				t.Errorf("%s after event %d: the query rests on other steps than at first (-) now (+):\n%s", name, at+1, diff)
			}
		}
	}
}

// Earlier turns come within bounds, the latest of them first of all.
func TestMemory(t *testing.T) {
	t.Parallel()
	s := script("Find who bought most")
	long := strings.Repeat("Ω", 10<<10)
	for i := range 7 {
		result, err := json.Marshal(map[string]any{"response": long, "steps": []any{
			map[string]any{"query": fmt.Sprint("SELECT ", i)}, map[string]any{"query": "-- no query: not there"}, map[string]any{"query": long}}})
		if err != nil {
			t.Fatal(err)
		}
		s.Turns = append(s.Turns, agentstest.Turn(fmt.Sprint(i), fmt.Sprint("question ", i), result))
	}
	s.Run(t, newExecutor(s.Config()), nil)
	size := 0
	for _, turn := range s.Planned.Earlier {
		size += len(turn.Question) + len(turn.Answer) + len(strings.Join(turn.Queries, ""))
		if !utf8.ValidString(turn.Answer) || len(turn.Queries) != 1 {
			t.Errorf("remembered: %.100v", turn)
		}
	}
	kept := s.Planned.Earlier
	if len(kept) < 3 || len(kept) > 5 || size > 8<<10 || kept[len(kept)-1].Question != "question 6" || kept[0].Question > kept[1].Question {
		t.Errorf("%d turns of %d bytes are remembered", len(kept), size)
	}
}

// A turn that found nothing out is as if it had not been asked, however many there
// are; one of which a step did, or whose query gave no rows, is remembered.
func TestMemoryOfFailures(t *testing.T) {
	t.Parallel()
	s := script("Find who bought most")
	turn := func(question, steps string) {
		s.Turns = append(s.Turns, agentstest.Turn("", question, json.RawMessage(`{"response":"…","steps":[`+steps+`]}`)))
	}
	turn("answered", `{"query":"SELECT 1","data":[]}`)
	turn("in part", `{"query":"","reasoning":"not there"},{"query":"SELECT 2"}`)
	turn("not there", `{"query":"","reasoning":"not there"}`)
	for range 8 { // of an earlier release
		turn("not understood", `{"query":"-- no query: Not understood","reasoning":"Not understood"}`)
	}
	turn("not in the documents", `{"query":"SELECT 3","reasoning":"Nothing in the documents matches that.","data":[]}`)
	turn("without steps", "")
	s.Run(t, newExecutor(s.Config()), nil)
	var questions []string
	for _, turn := range s.Planned.Earlier {
		questions = append(questions, turn.Question)
	}
	if want := []string{"answered", "in part"}; !slices.Equal(questions, want) {
		t.Errorf("remembered %q, want %q", questions, want)
	}
}

// Large results are read one by one, as few as are needed, and huge ones not at all.
func TestMemoryOfLargeTurns(t *testing.T) {
	t.Parallel()
	s := script("Find who bought most")
	for i := range 12 {
		rows := 1 << 20
		if i == 10 {
			rows *= 3
		}
		s.Turns = append(s.Turns, agentstest.Turn(fmt.Sprint(i), fmt.Sprint("question ", i), json.RawMessage(fmt.Sprintf(
			`{"response":"…","steps":[{"query":"SELECT %d","data":[%q]},{"query":"SELECT 0","reasoning":"Nothing in the documents matches that."}]}`,
			i, strings.Repeat("x", rows)))))
	}
	s.Run(t, newExecutor(s.Config()), nil)
	if want := []string{"11", "9", "8", "7"}; !slices.Equal(s.Read, want) {
		t.Errorf("read the results %q, want %q", s.Read, want)
	}
	var got []string
	for _, turn := range s.Planned.Earlier {
		got = append(got, turn.Question+": "+strings.Join(turn.Queries, ", "))
	}
	want := []string{"question 7: SELECT 7", "question 8: SELECT 8", "question 9: SELECT 9", "question 10: ", "question 11: SELECT 11"}
	if !slices.Equal(got, want) {
		t.Errorf("remembered %q, want %q", got, want)
	}
}

// What a model says is cut to what fits.
func TestHostileModel(t *testing.T) {
	t.Parallel()
	huge := "\x00\xff" + strings.Repeat("é\x00\xfe<script>", 100<<10)
	var steps []string
	for range 100 {
		steps = append(steps, "", " \x00 ", huge)
	}
	s := script()
	s.Steps, s.Reasoning, s.Markdown = steps, huge, huge
	s.Write = func(task llm.QueryTask) (llm.Query, error) {
		if len(task.Before) == 3 {
			return llm.Query{}, llm.Unanswerable("%s", huge)
		}
		return llm.Query{SQL: "SELECT 1", Reasoning: huge, Search: &llm.Search{Dataset: "notes", Words: huge, Limit: -1}}, nil
	}
	s.Found = agentstest.Rows(huge, []string{"text"}, `{"text":"ok"}`)
	events := s.Run(t, newExecutor(s.Config()), nil)
	if len(events) != 3+2*llm.MaxSteps+2 {
		t.Fatalf("%d events", len(events))
	}
	for i, event := range events {
		line := agentstest.Line(t, event)
		if !utf8.Valid(line) || bytes.Contains(line, []byte(`\u0000`)) {
			t.Errorf("event %d is not clean", i+1)
		}
		switch event := event.(type) {
		case *a2a.TaskStatusUpdateEvent:
			if event.Status.Message != nil && len(event.Status.Message.Parts) == 1 {
				within(t, "instruction", event.Status.Message.Parts[0].Text(), 2<<10)
			} else if event.Status.Message != nil {
				within(t, "plan's reasoning", event.Status.Message.Parts[0].Text(), 8<<10)
			}
		case *a2a.TaskArtifactUpdateEvent:
			if text := event.Artifact.Parts[0].Text(); event.Artifact.Metadata["answered"] != false {
				within(t, "text", text, 256<<10)
			} else if text != "" {
				t.Errorf("a step without a query has the text %.100q", text)
			}
			if reasoning, ok := event.Artifact.Metadata["reasoning"].(string); ok {
				within(t, "reasoning", reasoning, 8<<10)
			}
		}
	}
}

func within(t *testing.T, what, text string, limit int) {
	t.Helper()
	if text == "" || len(text) > limit {
		t.Errorf("%s of %d bytes, want 1 to %d", what, len(text), limit)
	}
}

// Queries get a part of long results; answers and readers get the rows that there are.
func TestLongResults(t *testing.T) {
	t.Parallel()
	s := script("one", "two")
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", 50)))
	}
	s.Results["SELECT 'one'"] = agentstest.Rows("SELECT 'one'", []string{"n"}, rows...)
	events := s.Run(t, newExecutor(s.Config()), nil)
	before, answer := s.Written.Before[0].Rows, s.Answered.Steps[0].Rows
	if len(before.Rows) != 50 || !before.Truncated || len(answer.Rows) != 1000 || answer.Truncated {
		t.Errorf("a query rests on %d rows, the answer on %d", len(before.Rows), len(answer.Rows))
	}
	if line := agentstest.Line(t, events[4]); !bytes.Contains(line, []byte(`"rowCount":1000,"truncated":false`)) {
		t.Errorf("the step is %.200s", line)
	}
}

// Spans are ended once each, with what came of them.
func TestTraces(t *testing.T) {
	t.Parallel()
	s := script("one", "two")
	delete(s.Results, "SELECT 'two'")
	var tracer tracer
	config := s.Config()
	config.Tracer = &tracer
	s.Run(t, newExecutor(config), nil)
	want := "datasets model:plan model:write_query query model:write_query query! model:write_query query!"
	if got := strings.Join(tracer.spans, " "); got != want {
		t.Errorf("spans are %s\nwant      %s", got, want)
	}
}

// TestTrials has a job try queries out: they have no spans, and share what was read of the
// datasets for a moment.
func TestTrials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := script("one")
		write := s.Write
		s.Write = func(task llm.QueryTask) (llm.Query, error) {
			for range 10 {
				if _, err := task.Data.Query(t.Context(), "SELECT 'one'"); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Second)
			if _, err := task.Data.Query(t.Context(), "SELECT 'none'"); !errors.Is(err, llm.ErrBadQuery) {
				t.Error(err)
			}
			return write(task)
		}
		var tracer tracer
		config := s.Config()
		config.Tracer = &tracer
		s.Run(t, newExecutor(config), nil)
		if got := strings.Join(tracer.spans, " "); got != "datasets model:plan model:write_query query model:answer" {
			t.Errorf("spans are %s", got)
		}
		if len(s.Ran) != 12 || s.Listed != 3 {
			t.Errorf("ran %d queries, listed the datasets %d times", len(s.Ran), s.Listed)
		}
	})
}

type tracer struct{ spans []string }

func (r *tracer) Model(ctx context.Context, job string) (context.Context, func(llm.Usage, error)) {
	return ctx, func(_ llm.Usage, err error) { r.end("model:"+job, err) }
}

func (r *tracer) Tool(ctx context.Context, name string) (context.Context, func(error)) {
	return ctx, func(err error) { r.end(name, err) }
}

func (r *tracer) end(name string, err error) {
	if err != nil {
		name += "!"
	}
	r.spans = append(r.spans, name)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for event := range newExecutor(agents.Config{}).Cancel(t.Context(), &a2asrv.ExecutorContext{TaskID: agentstest.RunID}) {
		if status, ok := event.(*a2a.TaskStatusUpdateEvent); !ok || status.Status.State != a2a.TaskStateCanceled {
			t.Errorf("got %+v", event)
		}
	}
}

// An agent needs only the question: the SDK's own host runs it.
func TestOnSDKHost(t *testing.T) {
	t.Parallel()
	gob.Register(json.RawMessage{}) // the SDK's store in memory copies tasks with gob
	s := script("Find who bought most")
	message := s.Message()
	message.TaskID = ""
	sent, err := a2asrv.NewHandler(newExecutor(s.Config())).SendMessage(s.Context(t.Context()), &a2a.SendMessageRequest{Message: message})
	if err != nil {
		t.Fatal(err)
	}
	task := sent.(*a2a.Task)
	if task.Status.State != a2a.TaskStateCompleted || agents.Response(task) != s.Markdown {
		t.Errorf("%s: %q", task.Status.State, agents.Response(task))
	}
}
