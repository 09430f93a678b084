package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/a2aserver"
	"parley/agents"
	"parley/agents/assistant"
	"parley/agents/nl2ql"
	"parley/cmd/parley/e2e/helpers/agentstest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/llm"
)

// The executors need only the question in the context: on the SDK's own host they give the same events,
// after the task, which our host leaves out of the streams of nl2ql.
func TestExecutorsOnOtherHosts(t *testing.T) {
	t.Parallel()
	const sql = "SELECT customer, total FROM orders"
	answered := func() *agentstest.Script {
		return &agentstest.Script{
			Question: "Who bought how much?", Data: agentstest.Shop(), Steps: []string{"Look it up"}, Markdown: "Ann bought most.",
			Results: map[string]domain.QueryResult{sql: agentstest.Rows(sql, []string{"customer"}, `{"customer":"ann"}`)},
			Write: func(llm.QueryTask) (llm.Query, error) {
				return llm.Query{SQL: sql, Reasoning: "Totals are in orders.", Confidence: 0.75}, nil
			},
		}
	}
	failing := func() *agentstest.Script {
		s := answered()
		s.Errors = map[string]error{sql: errors.New("no luck")}
		return s
	}
	newNL2QL := func(c agents.Config) a2asrv.AgentExecutor { return nl2ql.New(c) }
	newAssistant := func(c agents.Config) a2asrv.AgentExecutor { return assistant.New(c) }
	for name, test := range map[string]struct {
		script        func() *agentstest.Script
		executor      func(agents.Config) a2asrv.AgentExecutor
		omitSubmitted bool
	}{
		"nl2ql":              {answered, newNL2QL, true},
		"nl2ql, charted":     {charted, newNL2QL, true},
		"nl2ql fails":        {failing, newNL2QL, true},
		"assistant":          {answered, newAssistant, false},
		"assistant, charted": {charted, newAssistant, false},
		"assistant, failed":  {failing, newAssistant, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.script()
			theirs := streamOf(t, s.Context(t.Context()), a2asrv.NewHandler(test.executor(s.Config())), s)
			if test.omitSubmitted {
				if _, ok := theirs[0].(*a2a.Task); !ok {
					t.Fatalf("the SDK's host begins with %s", agentstest.Line(t, theirs[0]))
				}
				theirs = theirs[1:]
			}
			s = test.script()
			caller := domain.Caller{Username: "ann"}
			ours := streamOf(t, t.Context(), hostOf(t, caller, test.executor(s.Config()), test.omitSubmitted), s)
			if got, want := normal(t, ours), normal(t, theirs); got != want {
				t.Errorf("our host gives\n%s\nthe SDK's\n%s", got, want)
			}
		})
	}
}

// A username belongs to the namespace beside it: one in the message says nothing about a
// namespace that is named elsewhere.
func TestUsernameWithoutNamespace(t *testing.T) {
	t.Parallel()
	for _, username := range []any{"jane", 7.} {
		for name, executor := range executors {
			t.Run(fmt.Sprint(name, " ", username), func(t *testing.T) {
				t.Parallel()
				const sql = "SELECT customer, total FROM orders"
				s := &agentstest.Script{
					Question: "Who bought how much?", Data: agentstest.Shop(), Steps: []string{"Look it up"}, Markdown: "Ann bought most.",
					Results: map[string]domain.QueryResult{sql: agentstest.Rows(sql, []string{"customer"}, `{"customer":"ann"}`)},
					Write:   func(llm.QueryTask) (llm.Query, error) { return llm.Query{SQL: sql, Confidence: 0.75}, nil },
				}
				message := s.Message()
				message.TaskID, message.Metadata = "", map[string]any{"username": username}
				caller := domain.Caller{Username: "ann"}
				host := hostOf(t, caller, executor(s.Config()), false)
				sent, err := host.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: message, Tenant: "shop"})
				if task, ok := sent.(*a2a.Task); err != nil || !ok || task.Status.State != a2a.TaskStateCompleted {
					t.Errorf("%+v, %v", sent, err)
				}
			})
		}
	}
}

// An answer finds the question that an agent has asked back on the SDK's host as on ours.
func TestAskingBackOnOtherHosts(t *testing.T) {
	t.Parallel()
	for name, executor := range executors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ambiguous()
			theirs := askAndAnswer(t, s.Context(t.Context()), a2asrv.NewHandler(executor(s.Config())), s)
			s = ambiguous()
			caller := domain.Caller{Username: "ann"}
			ours := askAndAnswer(t, t.Context(), hostOf(t, caller, executor(s.Config()), false), s)
			if got, want := normal(t, ours), normal(t, theirs); got != want {
				t.Errorf("our host gives\n%s\nthe SDK's\n%s", got, want)
			}
			if task := s.Fold(t, ours, true); task.Status.State != a2a.TaskStateCompleted || !slices.Equal(s.Ran, []string{otherSQL}) {
				t.Errorf("ran %q: %s", s.Ran, agentstest.Line(t, task))
			}
		})
	}
}

// askAndAnswer returns the events before and after an answer that is none of the options, and
// one that is.
func askAndAnswer(t *testing.T, ctx context.Context, host host, s *agentstest.Script) []a2a.Event {
	t.Helper()
	events := streamOf(t, ctx, host, s)
	for _, text := range []string{"neither", "number of orders"} {
		answer := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
		answer.TaskID = events[0].TaskInfo().TaskID
		events = append(events, send(t, ctx, host, answer)...)
	}
	return events
}

// host is the SDK's, or our own.
type host interface {
	SendMessage(ctx context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	SendStreamingMessage(ctx context.Context, request *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error]
}

// ourHost is our host over JSON-RPC.
type ourHost struct{ a2aclient.Transport }

func (h ourHost) SendMessage(ctx context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return h.Transport.SendMessage(ctx, nil, request)
}

func (h ourHost) SendStreamingMessage(ctx context.Context, request *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return h.Transport.SendStreamingMessage(ctx, nil, request)
}

// hostOf hosts an executor over a store with the caller's namespace.
func hostOf(t *testing.T, caller domain.Caller, executor a2asrv.AgentExecutor, omitSubmitted bool) host {
	t.Helper()
	store := sqlstoretest.SQLite(t)
	if err := store.CreateDataset(t.Context(), caller, "shop", "orders", domain.Definition{}); err != nil {
		t.Fatal(err)
	}
	host := a2aserver.New(a2aserver.Config{
		Log: store,
		Agents: []a2aserver.Agent{{
			Name: "agent", Executor: executor, OmitSubmitted: omitSubmitted,
			Projection: a2aserver.Projection{Result: agents.Result, Failure: agents.Failure, LastNode: agents.LastNode, Input: agents.InputOf, Progress: agents.NewProgress},
		}},
		Logger:     slog.New(slog.DiscardHandler),
		Reads:      fair.New(fair.Config{What: "large answers", Slots: 64 << 20, SlotsPerUser: 64 << 20}),
		RunTimeout: time.Minute, MaxRuns: 2, MaxWorking: 1, UserRuns: 1, Lease: time.Minute, WriteTimeout: time.Minute, KeepAlive: time.Minute,
	})
	t.Cleanup(func() {
		if err := host.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = host.Call(w, r, caller, "agent", "", body)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return ourHost{a2aclient.NewJSONRPCTransport(server.URL, server.Client())}
}

// streamOf sends the script's question and gives the events of its stream.
func streamOf(t *testing.T, ctx context.Context, host host, s *agentstest.Script) []a2a.Event {
	t.Helper()
	message := s.Message()
	message.TaskID, message.Metadata = "", map[string]any{"namespace": "shop"}
	return send(t, ctx, host, message)
}

// send returns the events of a message's stream.
func send(t *testing.T, ctx context.Context, host host, message *a2a.Message) []a2a.Event {
	t.Helper()
	var events []a2a.Event
	for event, err := range host.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: message}) {
		if err != nil {
			t.Fatalf("after %d events: %v", len(events), err)
		}
		events = append(events, event)
	}
	return events
}

// normal writes events, with their keys in order, without what differs between runs.
func normal(t *testing.T, events []a2a.Event) string {
	t.Helper()
	var lines []byte
	for _, event := range events {
		var value any
		if err := json.Unmarshal(agentstest.Line(t, event), &value); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	return string(golden.Scrub(lines))
}
