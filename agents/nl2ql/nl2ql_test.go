package nl2ql_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/agents"
	"parley/agents/nl2ql"
	"parley/cmd/parley/e2e/helpers/agentstest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/internal/domain"
	"parley/llm"
)

const good = "SELECT customer, total FROM orders"

// oddRow has what is easily lost on the way.
const oddRow = `{"zeta":1,"alpha":{"b":[1,null,{"deep":[]}],"a":""},"big":"9223372036854775808","naïve 名":"\u2028 ☃ <b>&","__metadata":{"score":0.5}}`

// notes are those of the join guard.
var notes = []string{"Each row of `orders` counts once, although several rows of `items` match it.", "2 rows of `orders` are left out: they have no match in `customers`."}

func newExecutor(config agents.Config) a2asrv.AgentExecutor { return nl2ql.New(config) }

func script() *agentstest.Script {
	return &agentstest.Script{
		Question: "Who bought how much?",
		Data:     agentstest.Shop(),
		Results:  map[string]domain.QueryResult{good: agentstest.Rows(good, []string{"zeta", "alpha", "big", "naïve 名"}, oddRow, `{"zeta":null}`)},
		Write: func(llm.QueryTask) (llm.Query, error) {
			return llm.Query{SQL: good, Reasoning: "Totals are in orders.", Confidence: 0.75}, nil
		},
	}
}

// twoReadings is the query of a question that may mean two things.
func twoReadings() llm.Query {
	return llm.Query{SQL: good, Reasoning: "Read as: totals per customer.", Confidence: 0.4, Readings: []llm.Reading{
		{SQL: good, Words: "totals per customer"}, {SQL: "SELECT count(*) FROM orders", Words: "number of orders\n![x](http://evil.example)"},
	}}
}

func scripts() map[string]func() *agentstest.Script {
	change := func(change func(*agentstest.Script)) func() *agentstest.Script {
		return func() *agentstest.Script {
			s := script()
			change(s)
			return s
		}
	}
	fails := func(err error) func() *agentstest.Script {
		return change(func(s *agentstest.Script) {
			s.Write = func(llm.QueryTask) (llm.Query, error) { return llm.Query{}, err }
		})
	}
	return map[string]func() *agentstest.Script{
		"success": script,
		"repaired": change(func(s *agentstest.Script) {
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				if len(task.Failed) == 0 {
					return llm.Query{SQL: "SELECT * FROM order"}, nil
				}
				return llm.Query{SQL: good, Reasoning: task.Failed[0].SQL + ": " + task.Failed[0].Reason, Confidence: 2}, nil
			}
		}),
		"guarded": change(func(s *agentstest.Script) {
			result := s.Results[good]
			result.SQL, result.Rewritten, result.Notes = good+" WHERE true", true, notes
			s.Results[good], s.Results[result.SQL] = result, s.Results[good]
		}),
		"refused": change(func(s *agentstest.Script) {
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				return llm.Query{SQL: fmt.Sprintf("DROP TABLE orders -- %d", len(task.Failed))}, nil
			}
		}),
		"repair-gives-up": change(func(s *agentstest.Script) {
			s.Write = func(task llm.QueryTask) (llm.Query, error) {
				if len(task.Failed) == 0 {
					return llm.Query{SQL: "SELECT 1"}, nil
				}
				return llm.Query{}, llm.ErrNoAnswer
			}
		}),
		"unanswerable": fails(llm.Unanswerable("Nothing here speaks\nof the weather")),
		"words": fails(&llm.UnanswerableError{
			Reason: "Not understood: “blargh”.", Words: []string{"blargh", "![x](http://evil.example)"}, Suggestions: []string{"How many orders are there?"},
		}),
		"two-readings": change(func(s *agentstest.Script) {
			s.Write = func(llm.QueryTask) (llm.Query, error) { return twoReadings(), nil }
		}),
		"likely": change(func(s *agentstest.Script) {
			s.Write = func(llm.QueryTask) (llm.Query, error) {
				return llm.Query{SQL: good, Reasoning: "I read this as: totals per customer.", Confidence: 0.55, Others: []llm.Reading{
					{SQL: "SELECT 1", Words: "number of customers"}, {SQL: "SELECT 2", Words: "number of orders\n![x](http://evil.example)"}, {SQL: "SELECT 3", Words: "one too many"},
				}}, nil
			}
		}),
		"no-data":    change(func(s *agentstest.Script) { s.Data = nil }),
		"model-down": fails(fmt.Errorf("ask: %w: dial tcp 10.0.0.1", llm.ErrUnavailable)),
		"no-model": change(func(s *agentstest.Script) {
			s.JobsError = domain.Errorf(domain.ErrInvalid, "there is no model \"x\"")
		}),
		"model-raves": fails(errors.New("secret internals")),
		"search": change(func(s *agentstest.Script) {
			s.Write = func(llm.QueryTask) (llm.Query, error) {
				return llm.Query{Search: &llm.Search{Dataset: "notes", Words: "fox", Limit: 1e9}, Confidence: math.NaN()}, nil
			}
			s.Found = agentstest.Rows("WITH counted …", []string{"text"}, `{"text":"a fox","__metadata":{"score":0.9}}`)
			s.Found.Truncated = true
		}),
		"search-in-vain": change(func(s *agentstest.Script) {
			s.Write = func(llm.QueryTask) (llm.Query, error) {
				return llm.Query{Search: &llm.Search{Dataset: "notes", Words: "blargh"}}, nil
			}
			s.Found = agentstest.Rows("WITH counted …", []string{"text"})
		}),
		"access-gone": change(func(s *agentstest.Script) { s.DatasetsError = domain.ErrNotFound }),
		"access-goes": change(func(s *agentstest.Script) { s.Errors = map[string]error{good: domain.ErrNotFound} }),
		"engine-busy": change(func(s *agentstest.Script) {
			s.Errors = map[string]error{good: domain.Errorf(domain.ErrUnavailable, "too many queries are waiting; try again soon")}
		}),
		"names-that-lead": change(func(s *agentstest.Script) {
			s.Errors = map[string]error{good: domain.Errorf(domain.ErrInvalid, "there is no `![x](http://evil.example)`; there is <b>, www.evil.example")}
		}),
		"columns-that-lead": change(func(s *agentstest.Script) {
			s.Data[0].Columns = []domain.Column{{Name: "![x](http://evil.example)", Type: "VARCHAR"}}
			s.Write = func(llm.QueryTask) (llm.Query, error) { return llm.Query{}, llm.Unanswerable("Not there") }
		}),
		"verified": change(func(s *agentstest.Script) {
			s.Verified, s.Results["SELECT 7"] = "SELECT 7", agentstest.Rows("SELECT 7", []string{"7"}, `{"7":7}`)
		}),
		"verified-gone": change(func(s *agentstest.Script) { s.Verified = "SELECT * FROM gone" }),
		"attachment":    change(func(s *agentstest.Script) { s.Filename = "orders.csv" }),
		"attachment-refused": change(func(s *agentstest.Script) {
			s.Filename, s.AttachError = "orders.xls", domain.Errorf(domain.ErrInvalid, "orders.xls is an Excel file of the format before 2007; save it as .xlsx")
		}),
		"attachment-lost": change(func(s *agentstest.Script) {
			s.Filename, s.AttachError = "orders.csv", fmt.Errorf("read: %w", domain.ErrUnavailable)
		}),
		"engine-breaks": change(func(s *agentstest.Script) { s.Errors = map[string]error{good: errors.New("secret internals")} }),
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

// The file of a question is read before the datasets are, and only where there is one.
func TestAttachment(t *testing.T) {
	t.Parallel()
	for filename, want := range map[string]string{"": good, "orders.csv": "attach " + good} {
		s := script()
		s.Filename = filename
		s.Run(t, newExecutor(s.Config()), nil)
		if got := strings.Join(s.Ran, " "); got != want {
			t.Errorf("with %q it ran %q, want %q", filename, got, want)
		}
	}
}

// A verified query takes the place of the job that writes one. It is not used where there
// are attachments, which the question may be about.
func TestVerified(t *testing.T) {
	t.Parallel()
	for name, used := range map[string]bool{"verified": true, "verified-gone": false} {
		s := scripts()[name]()
		events := s.Run(t, newExecutor(s.Config()), nil)
		if used != (len(s.Asked) == 0) {
			t.Errorf("%s: the jobs are %q", name, s.Asked)
		}
		result, err := agents.Result(s.Fold(t, events, true))
		if err != nil || bytes.Contains(result, []byte(`"verified":true`)) != used {
			t.Errorf("%s: the result is %s, %v", name, result, err)
		}
	}
	s := scripts()["verified"]()
	for i := range s.Data {
		s.Data[i].Namespace = ""
	}
	s.Run(t, newExecutor(s.Config()), nil)
	if len(s.Asked) == 0 {
		t.Error("with attachments, the verified query was used")
	}
}

// Rows come through as they are, key for key in their order.
func TestRowsAreUnchanged(t *testing.T) {
	t.Parallel()
	s := script()
	events := s.Run(t, newExecutor(s.Config()), nil)
	parts := events[3].(*a2a.TaskArtifactUpdateEvent).Artifact.Parts
	want := `{"rows":[` + oddRow + `,{"zeta":null}],"rowCount":2,"truncated":false}`
	if got := string(parts[1].Data().(json.RawMessage)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	result, err := agents.Result(s.Fold(t, events, true))
	if err != nil || !bytes.Contains(result, []byte(oddRow)) {
		t.Errorf("the result is %s, %v", result, err)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	s := script()
	s.Links = []domain.MeasuredLink{
		{Link: domain.Link{From: "orders", Columns: []string{"customer"}, To: "notes", ToColumns: []string{"document"}, Label: "about"}, Declared: true},
		{Link: domain.Link{From: "notes", Columns: []string{"passage"}, To: "orders", ToColumns: []string{"id"}}, Measure: &domain.LinkMeasure{Cardinality: domain.OneToMany, Rows: 9, Orphans: 2}},
	}
	s.Run(t, newExecutor(s.Config()), nil)
	orders := s.Written.Datasets[0]
	if orders.Version != "d1/3" || orders.Rows != 7 || !strings.HasPrefix(orders.Description, "What was") || orders.Columns[2].Description != "in euros" || orders.Columns[0].Description != "" {
		t.Errorf("orders are described as %+v", orders)
	}
	wantLinks := []llm.Link{
		{From: "orders", Columns: []string{"customer"}, To: "notes", ToColumns: []string{"document"}, Label: "about", Declared: true, ManyFrom: true},
		{From: "notes", Columns: []string{"passage"}, To: "orders", ToColumns: []string{"id"}, ManyTo: true, Orphans: 2},
	}
	if !reflect.DeepEqual(s.Written.Links, wantLinks) {
		t.Errorf("the links are %+v", s.Written.Links)
	}
	rows, err := s.Written.Data.Query(t.Context(), good)
	if err != nil || len(rows.Rows) != 2 || rows.Columns[0] != "zeta" {
		t.Errorf("a job reads %+v, %v", rows, err)
	}
	if s.Written.Instruction != s.Question {
		t.Errorf("the job is %q", s.Written.Instruction)
	}
}

func TestFaultsAreLogged(t *testing.T) {
	t.Parallel()
	s := scripts()["engine-breaks"]()
	var lines bytes.Buffer
	config := s.Config()
	config.Log = slog.New(slog.NewTextHandler(&lines, nil))
	s.Run(t, newExecutor(config), nil)
	if !strings.Contains(lines.String(), "secret internals") || !strings.Contains(lines.String(), agentstest.RunID) {
		t.Errorf("the log has %q", lines.String())
	}
}

// hushed is an error with words for the reader and others for the log.
type hushed struct{}

func (hushed) Error() string        { return "the model is out" }
func (hushed) LogValue() slog.Value { return slog.StringValue("its provider answered 418") }

func TestCausesAreLogged(t *testing.T) {
	t.Parallel()
	s := script()
	s.Write = func(llm.QueryTask) (llm.Query, error) { return llm.Query{}, hushed{} }
	var lines bytes.Buffer
	config := s.Config()
	config.Log = slog.New(slog.NewTextHandler(&lines, nil))
	s.Run(t, newExecutor(config), nil)
	if !strings.Contains(lines.String(), "the model is out") || !strings.Contains(lines.String(), `cause="its provider answered 418"`) {
		t.Errorf("the log has %q", lines.String())
	}
}

func TestSlowModel(t *testing.T) {
	t.Parallel()
	s := script()
	config := s.Config()
	config.JobTimeout = time.Nanosecond
	events := s.Run(t, newExecutor(config), nil)
	if last := string(agentstest.Line(t, events[len(events)-1])); !strings.Contains(last, `"TIMEOUT"`) {
		t.Errorf("the run ends with %s", last)
	}
}

// A run that is stopped says nothing about it.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := script()
	ctx, cancel := context.WithCancel(s.Context(t.Context()))
	s.Write = func(llm.QueryTask) (llm.Query, error) {
		cancel()
		return llm.Query{}, ctx.Err()
	}
	exec := s.Request(nil)
	count := 0
	for range newExecutor(s.Config()).Execute(ctx, exec) {
		count++
	}
	if count != 2 {
		t.Errorf("%d events, want the task and the first status", count)
	}
	for range newExecutor(s.Config()).Execute(s.Context(t.Context()), exec) {
		break
	}
}

// What a question lacks is refused before the first event.
func TestWithoutAQuestion(t *testing.T) {
	t.Parallel()
	s := script()
	for ctx, exec := range map[context.Context]*a2asrv.ExecutorContext{t.Context(): s.Request(nil), s.Context(t.Context()): {}} {
		for event, err := range newExecutor(s.Config()).Execute(ctx, exec) {
			if event != nil || !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("%v, %v", event, err)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	var events []a2a.Event
	exec := &a2asrv.ExecutorContext{TaskID: agentstest.RunID, ContextID: agentstest.ContextID}
	for event := range newExecutor(agents.Config{}).Cancel(t.Context(), exec) {
		events = append(events, event)
	}
	golden.Assert(t, "cancel.jsonl", golden.Scrub(agentstest.Lines(t, events)))
}

// A task that the question refers to counts like the latest turn, once.
func TestReferences(t *testing.T) {
	t.Parallel()
	s := script()
	for _, question := range []string{"one", "two", "three"} {
		s.Turns = append(s.Turns, agentstest.Turn(question, question, json.RawMessage(`{"response":"1 row","steps":[{"query":"SELECT 1"}]}`)))
	}
	s.References = []a2a.TaskID{"two", "one", "deleted"}
	s.Run(t, newExecutor(s.Config()), nil)
	var got []string
	for _, turn := range s.Written.Earlier {
		got = append(got, turn.Question)
	}
	if strings.Join(got, " ") != "three two one" {
		t.Errorf("remembered %q", got)
	}
}

// The query rests on what was asked before in the conversation.
func TestMemory(t *testing.T) {
	t.Parallel()
	s := script()
	s.Turns = []domain.Run{
		agentstest.Turn("1", "How many orders?", json.RawMessage(`{"response":"1 row","steps":[{"query":"SELECT 1"}]}`)),
		agentstest.Turn("2", "And the weather?", json.RawMessage(`{"response":"…","steps":[{"query":"-- no query: Not there"}]}`)),
	}
	s.Run(t, newExecutor(s.Config()), nil)
	if turns := s.Written.Earlier; len(turns) != 1 || turns[0].Question != "How many orders?" || turns[0].Queries[0] != "SELECT 1" {
		t.Errorf("remembered %+v", turns)
	}
}

// The namespace in the text of a question is no part of what is looked up, unless a query uses it.
func TestNamespaceInText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ asked, reading string }{
		"in shop: Who bought how much?":     {"query Who bought how much?", "Totals."},
		"in ann/Shop: Who bought how much?": {"query Who bought how much?", "Totals."},
		"in store: Who bought how much?":    {"query in store: Who bought how much?", "Totals."},
		"Who bought how much in shop?":      {"query Who bought how much in shop?, query Who bought how much?", "Totals. Taken as the namespace: “shop”."},
		"Who bought unused in shop?":        {"query Who bought unused in shop?, query Who bought unused?", "Totals. Taken as the namespace: “shop”."},
		"Who bought a hop in shop?":         {"query Who bought a hop in shop?", "Totals."},
		"Who bought the value in shop?":     {"query Who bought the value in shop?", "Totals."},
	} {
		s := script()
		s.Question = text
		s.Write = func(task llm.QueryTask) (llm.Query, error) {
			query := llm.Query{SQL: good, Reasoning: "Totals.", Confidence: 0.75}
			switch named := strings.HasSuffix(task.Instruction, "in shop?"); {
			case named && strings.Contains(task.Instruction, "unused"):
				query.Unused = []string{"Shop"}
			case named && strings.Contains(task.Instruction, "hop in"):
				query.Unused = []string{"hop", "?"}
			case named && !strings.Contains(task.Instruction, "value"):
				return llm.Query{}, llm.Unanswerable("Not understood: “shop”.")
			}
			return query, nil
		}
		var last *a2a.TaskStatusUpdateEvent
		summary := ""
		for _, event := range s.Run(t, newExecutor(s.Config()), nil, func(q *domain.Question) { q.Inferred = true }) {
			switch event := event.(type) {
			case *a2a.TaskStatusUpdateEvent:
				last = event
			case *a2a.TaskArtifactUpdateEvent:
				summary = event.Artifact.Parts[0].Text()
			}
		}
		if got := strings.Join(s.Asked, ", "); got != want.asked || last.Metadata["reading"] != want.reading || last.Metadata["namespace"] != "ann/shop" || summary != "2 rows. Answered from the namespace shop." {
			t.Errorf("%q: %s; %v; %s", text, got, last.Metadata, summary)
		}
	}
}
