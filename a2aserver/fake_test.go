package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/internal/domain"
	"parley/internal/fair"
)

// fakeAgent is a service with the checks of the host, whose methods are the test's.
type fakeAgent struct {
	a2asrv.RequestHandler
	send        func(ctx context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	get         func(ctx context.Context, request *a2a.GetTaskRequest) (*a2a.Task, error)
	list        func(ctx context.Context, request *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	cancel      func(ctx context.Context, request *a2a.CancelTaskRequest) (*a2a.Task, error)
	card        func(ctx context.Context) (*a2a.AgentCard, error)
	streaming   func(ctx context.Context, request *a2a.SendMessageRequest) (subscription, error)
	subscribing func(ctx context.Context, request *a2a.SubscribeToTaskRequest, after int64) (subscription, error)
}

func (f *fakeAgent) SendMessage(ctx context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	if err := checkSend(request); err != nil {
		return nil, err
	}
	return f.send(ctx, request)
}

func (f *fakeAgent) GetTask(ctx context.Context, request *a2a.GetTaskRequest) (*a2a.Task, error) {
	if err := checkTask(request.ID, request.HistoryLength); err != nil {
		return nil, err
	}
	return f.get(ctx, request)
}

func (f *fakeAgent) ListTasks(ctx context.Context, request *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	if err := checkList(request); err != nil {
		return nil, err
	}
	return f.list(ctx, request)
}

func (f *fakeAgent) CancelTask(ctx context.Context, request *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if err := checkTask(request.ID, nil); err != nil {
		return nil, err
	}
	return f.cancel(ctx, request)
}

func (f *fakeAgent) GetExtendedAgentCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return f.card(ctx)
}

func (f *fakeAgent) extendedCard(ctx context.Context, _ string) (*a2a.AgentCard, error) {
	return f.card(ctx)
}

func (f *fakeAgent) stream(ctx context.Context, request *a2a.SendMessageRequest) (subscription, error) {
	if err := checkSend(request); err != nil {
		return nil, err
	}
	return f.streaming(ctx, request)
}

func (f *fakeAgent) subscribe(ctx context.Context, request *a2a.SubscribeToTaskRequest, after int64) (subscription, error) {
	if err := checkTask(request.ID, nil); err != nil {
		return nil, err
	}
	return f.subscribing(ctx, request, after)
}

// fakeSubscription returns its events, then what end says: an error, or, when that is nil,
// nothing until the reader goes.
type fakeSubscription struct {
	events []domain.Event
	end    error
	closed chan struct{}
	once   sync.Once
}

func newSubscription(end error, bodies ...string) *fakeSubscription {
	subscription := &fakeSubscription{end: end, closed: make(chan struct{})}
	for i, body := range bodies {
		subscription.events = append(subscription.events, domain.Event{Number: int64(i + 1), Body: json.RawMessage(body)})
	}
	return subscription
}

func (f *fakeSubscription) next(ctx context.Context, tick <-chan time.Time) (domain.Event, error) {
	if len(f.events) > 0 {
		event := f.events[0]
		f.events = f.events[1:]
		return event, nil
	}
	if f.end != nil {
		return domain.Event{}, f.end
	}
	select {
	case <-tick:
		return domain.Event{}, errNoEvent
	case <-ctx.Done():
		return domain.Event{}, ctx.Err()
	}
}

func (f *fakeSubscription) close() { f.once.Do(func() { close(f.closed) }) }

// echo is an agent that answers with what it understood.
func echo() *fakeAgent {
	return &fakeAgent{
		send: func(_ context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
			return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
				History: []*a2a.Message{request.Message}}, nil
		},
		get: func(_ context.Context, request *a2a.GetTaskRequest) (*a2a.Task, error) {
			return &a2a.Task{ID: request.ID, ContextID: "c1", Metadata: map[string]any{"request": request}}, nil
		},
		list: func(_ context.Context, request *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
			if *request != (a2a.ListTasksRequest{}) {
				return &a2a.ListTasksResponse{Tasks: []*a2a.Task{{ID: "t1", Metadata: map[string]any{"request": request}}}}, nil
			}
			return &a2a.ListTasksResponse{PageSize: 50}, nil
		},
		cancel: func(_ context.Context, request *a2a.CancelTaskRequest) (*a2a.Task, error) {
			return &a2a.Task{ID: request.ID, ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCanceled}}, nil
		},
		card: func(context.Context) (*a2a.AgentCard, error) { return &a2a.AgentCard{Name: "echo"}, nil },
		streaming: func(context.Context, *a2a.SendMessageRequest) (subscription, error) {
			return newSubscription(io.EOF, `{"statusUpdate":{"n":1}}`, "{\"statusUpdate\":\n{\"n\":2}}"), nil
		},
		subscribing: func(_ context.Context, request *a2a.SubscribeToTaskRequest, after int64) (subscription, error) {
			return newSubscription(io.EOF, fmt.Sprintf(`{"task":{"id":%q,"after":%d}}`, request.ID, after)), nil
		},
	}
}

func testConfig(log io.Writer) *Config {
	return &Config{
		CardJSON: func(card *a2a.AgentCard) ([]byte, error) {
			if card == nil {
				return nil, errors.New("no card")
			}
			return []byte(`{"name":"` + card.Name + `"}`), nil
		},
		LegacyCardJSON: func(context.Context, *a2a.AgentCard) ([]byte, error) { return []byte(`{}`), nil },
		Logger:         slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		WriteTimeout:   time.Minute,
		Short:          fair.New(fair.ShortRequests()),
		KeepAlive:      time.Minute,
	}
}

// ask sends a body to an agent, without a network.
func ask(agent service, body string, headers ...string) *httptest.ResponseRecorder {
	return askLogged(io.Discard, agent, body, headers...)
}

func askLogged(log io.Writer, agent service, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/a2a/echo", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	transport{Config: testConfig(log), agent: agent}.serve(w, r, []byte(body))
	return w
}

// listen serves an agent over HTTP. done is closed when its first handler has
// returned.
func listen(t *testing.T, agent service, cfg *Config) (server *httptest.Server, done chan struct{}) {
	t.Helper()
	done = make(chan struct{})
	var once sync.Once
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer once.Do(func() { close(done) })
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		transport{Config: cfg, agent: agent}.serve(w, r, body)
	}))
	server.Config.WriteTimeout = time.Minute
	server.Start()
	t.Cleanup(server.Close)
	return server, done
}

func post(t *testing.T, server *httptest.Server, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

const aMessage = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"how many?"}],"metadata":{"namespace":"shop"}}}`

func rpc(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}
