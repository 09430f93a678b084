package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"golang.org/x/sync/errgroup"

	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// counted counts the runs that an agent executes.
func counted(runs *atomic.Int64, agent script) script {
	return func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		runs.Add(1)
		agent(ctx, request, yield)
	}
}

// A message that comes again gives the task that it made, however it comes; the same id for
// other words is refused.
func TestRepeatedMessage(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		grant := domain.Grant{Username: "bob", Role: domain.Viewer}
		if err := store.ShareNamespace(t.Context(), alice, domain.NamespaceRef{Owner: "alice", Name: "shop"}, grant); err != nil {
			t.Fatal(err)
		}
		var runs atomic.Int64
		h := newHost(t, store, counted(&runs, fourEvents), func(cfg *Config) {
			cfg.Agents = append(cfg.Agents, Agent{Name: "other", Executor: counted(&runs, fourEvents), Projection: plain})
		})
		s := h.service("echo")
		other := h.service("other")
		request := toShop("How many?")
		send := func(s *agentService, who domain.Caller, change func(*a2a.SendMessageRequest)) (*a2a.Task, error) {
			again := *request
			message := *request.Message
			again.Message = &message
			change(&again)
			sent, err := s.SendMessage(as(t, who), &again)
			if err != nil {
				return nil, err
			}
			return sent.(*a2a.Task), nil
		}
		same := func(*a2a.SendMessageRequest) {}
		first, err := send(s, alice, same)
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*a2a.SendMessageRequest){
			"the same": same,
			"in other modes": func(r *a2a.SendMessageRequest) {
				r.Config = &a2a.SendMessageConfig{ReturnImmediately: true, AcceptedOutputModes: []string{"text"}}
			},
		} {
			again, err := send(s, alice, change)
			if err != nil || again.ID != first.ID || again.Status.State != a2a.TaskStateCompleted || len(again.Artifacts) != 2 {
				t.Errorf("%s: %s, %v", name, toText(t, again), err)
			}
		}
		var streamed []string
		for event, err := range s.SendStreamingMessage(as(t, alice), request) {
			if err != nil {
				t.Fatal(err)
			}
			if event.TaskInfo().TaskID != first.ID {
				t.Errorf("the stream is that of %s", event.TaskInfo().TaskID)
			}
			streamed = append(streamed, string(kindOf(event)))
		}
		if got := strings.Join(streamed, " "); got != "status artifact artifact status" {
			t.Errorf("streamed %s", got)
		}
		for name, change := range map[string]func(*a2a.SendMessageRequest){
			"other words":     func(r *a2a.SendMessageRequest) { r.Message.Parts = a2a.ContentParts{a2a.NewTextPart("How much?")} },
			"other metadata":  func(r *a2a.SendMessageRequest) { r.Metadata = map[string]any{"a": 1} },
			"another context": func(r *a2a.SendMessageRequest) { r.Message.ContextID = first.ContextID },
		} {
			if again, err := send(s, alice, change); !errors.Is(err, a2a.ErrInvalidParams) || jsonrpc.ToError(err).Code != -32602 {
				t.Errorf("%s: %s, %v", name, toText(t, again), err)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("%d runs", runs.Load())
		}
		for name, from := range map[string]struct {
			service *agentService
			who     domain.Caller
		}{"another user": {s, bob}, "another agent": {other, alice}} {
			if again, err := send(from.service, from.who, same); err != nil || again.ID == first.ID {
				t.Errorf("%s: %s, %v", name, toText(t, again), err)
			}
		}
		// The task is known also when its namespace is gone.
		if err := store.DeleteNamespace(t.Context(), alice, domain.NamespaceRef{Owner: "alice", Name: "shop"}, true); err != nil {
			t.Fatal(err)
		}
		if again, err := send(s, alice, same); err != nil || again.ID != first.ID {
			t.Errorf("without its namespace: %s, %v", toText(t, again), err)
		}
	})
}

// The task of a message is known also when the message would now be refused.
func TestRepeatedMessageThatIsRefused(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	var removed atomic.Bool
	s := newHost(t, store, fourEvents, func(cfg *Config) {
		cfg.Agents[0].Check = func(question domain.Question) error {
			if question.Model != "" && removed.Load() {
				return domain.Errorf(domain.ErrInvalid, "there is no such model")
			}
			return nil
		}
	}).service("echo")
	withModel, only := toShop("How many?"), question("How many?")
	withModel.Message.Metadata["model"] = "m"
	first := map[*a2a.SendMessageRequest]a2a.TaskID{}
	for _, request := range []*a2a.SendMessageRequest{withModel, only} {
		first[request] = sendTask(t, s, alice, request).ID
	}
	removed.Store(true)
	if err := store.DeleteNamespace(t.Context(), alice, domain.NamespaceRef{Owner: "alice", Name: "shop"}, true); err != nil {
		t.Fatal(err)
	}
	for request, id := range first {
		sent, err := s.SendMessage(as(t, alice), request)
		if task, ok := sent.(*a2a.Task); err != nil || !ok || task.ID != id {
			t.Errorf("%v, %v, want %s", sent, err, id)
		}
		request.Message.ID = domain.NewID()
		if sent, err := s.SendMessage(as(t, alice), request); !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("a new one: %v, %v", sent, err)
		}
	}
	if _, err := s.SendMessage(as(t, alice), &a2a.SendMessageRequest{}); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("no message: %v", err)
	}
}

// The namespace in the path of a request is part of what its message says.
func TestRepeatedMessageInAnotherPath(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	namespaces(t, store, "alice/shop", "alice/farm")
	s := namespaceHost(t, store)
	for name, send := range map[string]func(ctx context.Context, request *a2a.SendMessageRequest) (a2a.TaskID, error){
		"SendMessage": func(ctx context.Context, request *a2a.SendMessageRequest) (a2a.TaskID, error) {
			sent, err := s.SendMessage(ctx, request)
			if err != nil {
				return "", err
			}
			return sent.(*a2a.Task).ID, nil
		},
		"SendStreamingMessage": func(ctx context.Context, request *a2a.SendMessageRequest) (id a2a.TaskID, err error) {
			for event, err := range s.SendStreamingMessage(ctx, request) {
				if err != nil {
					return "", err
				}
				id = event.TaskInfo().TaskID
			}
			return id, nil
		},
	} {
		request := question("How many?")
		first, err := send(withPathTenant(as(t, alice), "alice/shop"), request)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := send(withPathTenant(as(t, alice), "alice/shop"), request); err != nil || again != first {
			t.Errorf("%s: %s, %v, want %s", name, again, err, first)
		}
		if other, err := send(withPathTenant(as(t, alice), "alice/farm"), request); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: to another path: %s, %v", name, other, err)
		}
	}
}

// The same message on two processes at once makes one run.
func TestRepeatedMessageOnTwoReplicas(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var runs atomic.Int64
	var services []*agentService
	for range 2 {
		store := sqlstoretest.Open(t, sqlstore.Config{DatabaseURL: url})
		if len(services) == 0 {
			withNamespace(t, store)
		}
		s := newHost(t, store, counted(&runs, fourEvents)).service("echo")
		services = append(services, s)
	}
	const messages, sends = 20, 3
	requests := make([]*a2a.SendMessageRequest, messages)
	ids := make([][2 * sends]a2a.TaskID, messages)
	var group errgroup.Group
	for i := range requests {
		requests[i] = toShop("How many?")
		for n := range 2 * sends {
			group.Go(func() error {
				sent, err := services[n%2].SendMessage(as(t, alice), requests[i])
				if err == nil {
					ids[i][n] = sent.(*a2a.Task).ID
				}
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		for _, id := range ids[i] {
			if id != ids[i][0] {
				t.Errorf("message %d made %s and %s", i, ids[i][0], id)
			}
		}
	}
	list, err := services[0].ListTasks(as(t, alice), &a2a.ListTasksRequest{})
	if err != nil || list.TotalSize != messages {
		t.Errorf("%d tasks, %v", list.TotalSize, err)
	}
}

// The tasks that have a status since a time include those of that time.
func TestStatusTimestampIsInclusive(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, fourEvents).service("echo")
		sent := sendTask(t, s, alice, toShop("?"))
		at := *sent.Status.Timestamp
		for after, want := range map[time.Duration]int{-time.Millisecond: 1, 0: 1, time.Microsecond: 0, time.Millisecond: 0} {
			since := at.Add(after)
			list, err := s.ListTasks(as(t, alice), &a2a.ListTasksRequest{StatusTimestampAfter: &since})
			if err != nil || len(list.Tasks) != want || list.TotalSize != want {
				t.Errorf("since %v after: %s, %v", after, toText(t, list), err)
			}
		}
	})
}

// An answer, or the question itself, that comes again while a task waits for an answer, and
// after it, gives the task.
func TestRepeatedAnswer(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	namespaces(t, store, "alice/shop", "alice/farm")
	s := namespaceHost(t, store)
	request := question("How many?")
	request.Message.ContextID = "chat"
	waiting := sendTask(t, s, alice, request)
	if waiting.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("%s", toText(t, waiting))
	}
	if again := sendTask(t, s, alice, request); again.ID != waiting.ID || again.Status.State != a2a.TaskStateInputRequired {
		t.Errorf("the question again: %s", toText(t, again))
	}
	answer := question("alice/shop")
	answer.Message.TaskID = waiting.ID
	done := sendTask(t, s, alice, answer)
	if done.ID != waiting.ID || done.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("%s", toText(t, done))
	}
	for name, again := range map[string]*a2a.SendMessageRequest{"answer": answer, "question": request} {
		if task := sendTask(t, s, alice, again); task.ID != waiting.ID || task.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the %s again: %s", name, toText(t, task))
		}
	}
	answer.Message.Parts = a2a.ContentParts{a2a.NewTextPart("alice/farm")}
	if _, err := s.SendMessage(as(t, alice), answer); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("another answer by the same id: %v", err)
	}
	if list, err := s.ListTasks(as(t, alice), &a2a.ListTasksRequest{}); err != nil || list.TotalSize != 1 {
		t.Errorf("%d tasks, %v", list.TotalSize, err)
	}
}

func FuzzSentMessage(f *testing.F) {
	f.Add("m", "How many?", `{"namespace":"shop"}`)
	f.Add("", "\xff\x00", `{"a":[1,{"b":null}]}`)
	f.Fuzz(func(t *testing.T, id, text, metadata string) {
		request := toShop(text)
		request.Message.ID = id
		if json.Unmarshal([]byte(metadata), &request.Metadata) != nil {
			request.Metadata = nil
		}
		one, err := sentMessage(request)
		if err != nil || len(one.Key) > 4*maxMessageKey || len(one.Digest) != 22 {
			t.Fatalf("%+v, %v", one, err)
		}
		if other, err := sentMessage(request); err != nil || other != one {
			t.Errorf("%+v, then %+v, %v", one, other, err)
		}
	})
}
