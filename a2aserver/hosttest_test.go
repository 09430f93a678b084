package a2aserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/a2aserver/a2ajson"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/storage/sqlstore"
)

var (
	alice = domain.Caller{Username: "alice"}
	bob   = domain.Caller{Username: "bob"}
)

// script is an agent whose every word is the test's.
type script func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)

func (s script) Execute(ctx context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { s(ctx, request, yield) }
}

func (s script) Cancel(_ context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateCanceled, nil), nil)
	}
}

func working(request *a2asrv.ExecutorContext) a2a.Event {
	return a2a.NewStatusUpdateEvent(request, a2a.TaskStateWorking, nil)
}

func completed(request *a2asrv.ExecutorContext) a2a.Event {
	return a2a.NewStatusUpdateEvent(request, a2a.TaskStateCompleted, nil)
}

func artifact(request *a2asrv.ExecutorContext, name string, parts ...*a2a.Part) a2a.Event {
	update := a2a.NewArtifactEvent(request, parts...)
	update.Artifact.ID, update.Artifact.Name = a2a.ArtifactID(name), name
	return update
}

// fourEvents works, gives back the question as an artifact, and is done: four events.
var fourEvents script = func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	_ = yield(working(request), nil) &&
		yield(artifact(request, "echo", a2a.NewTextPart(request.Message.Parts[0].Text())), nil) &&
		yield(artifact(request, "rows", a2a.NewDataPart(json.RawMessage(`{"z":1,"a":[2,{"y":3,"b":4}]}`))), nil) &&
		yield(completed(request), nil)
}

// plain is what a scripted agent's runs look like to readers.
var plain = Projection{
	Result: func(*a2a.Task) (json.RawMessage, error) {
		return json.RawMessage(`{"response":"done","steps":[]}`), nil
	},
	Failure:  func(task *a2a.Task) string { return string(task.Status.State) },
	LastNode: func(event a2a.Event) string { return string(kindOf(event)) },
	Input: func(status a2a.TaskStatus) *domain.Input {
		input := &domain.Input{}
		if status.Message == nil {
			return input
		}
		for _, part := range status.Message.Parts {
			if data, err := json.Marshal(part.Data()); err == nil {
				_ = json.Unmarshal(data, input) // not of that form: no options
			}
		}
		input.Question = messageText(status.Message)
		return input
	},
	Progress: func(string) func(a2a.Event) []domain.Progress {
		return func(event a2a.Event) []domain.Progress {
			return []domain.Progress{{Kind: domain.Answered, Text: string(kindOf(event))}}
		}
	},
}

// newHost hosts an agent called echo over a store.
func newHost(t testing.TB, log Log, agent a2asrv.AgentExecutor, change ...func(*Config)) *Host {
	t.Helper()
	cfg := Config{
		Log:          log,
		Agents:       []Agent{{Name: "echo", Executor: agent, Projection: plain}},
		Logger:       slog.New(slog.NewTextHandler(t.Output(), nil)),
		RunTimeout:   time.Minute,
		MaxRuns:      8192,
		MaxWorking:   4096,
		UserRuns:     4096,
		WriteTimeout: 10 * time.Second,
		KeepAlive:    time.Minute,
		Lease:        10 * time.Second,
		InputTimeout: time.Hour,
		Reads:        fair.New(fair.Config{What: "large answers", Slots: 64 << 20, SlotsPerUser: 16 << 20, MaxQueued: 100, MaxQueuedPerUser: 100}),
	}
	for _, f := range change {
		f(&cfg)
	}
	h := New(cfg)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close host: %v", err)
		}
	})
	return h
}

// service returns an agent by its name.
func (h *Host) service(name string) *agentService { return h.services[name] }

var _ a2asrv.RequestHandler = (*agentService)(nil)

func (s *agentService) SendStreamingMessage(ctx context.Context, request *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return s.host.events(ctx, func() (subscription, error) { return s.stream(ctx, request) })
}

func (s *agentService) SubscribeToTask(ctx context.Context, request *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return s.host.events(ctx, func() (subscription, error) { return s.subscribe(ctx, request, -1) })
}

// events opens a subscription and reads it to its end.
func (h *Host) events(ctx context.Context, open func() (subscription, error)) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer t.close()
		h.decoded(ctx, t, nil)(yield)
	}
}

// withNamespace makes alice's namespace "shop".
func withNamespace(t testing.TB, store *sqlstore.Store) {
	t.Helper()
	err := store.CreateDataset(t.Context(), alice, "shop", "orders", domain.Definition{})
	if err != nil {
		t.Fatal(err)
	}
}

// toShop is a message about alice's namespace.
func toShop(text string) *a2a.SendMessageRequest {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	message.Metadata = map[string]any{"namespace": "alice/shop"}
	return &a2a.SendMessageRequest{Message: message}
}

func as(t testing.TB, who domain.Caller) context.Context { return auth.WithCaller(t.Context(), who) }

// serveHost serves a host over HTTP; the caller is in the X-User and X-Restriction
// headers.
func serveHost(t testing.TB, h *Host) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			who := domain.Caller{Username: r.Header.Get("X-User"), Restriction: r.Header.Get("X-Restriction")}
			agent, path, below := strings.Cut(strings.Trim(r.URL.EscapedPath(), "/"), "/")
			if below {
				err = h.CallHTTP(w, r, who, agent, path, body)
			} else {
				err = h.Call(w, r, who, agent, "", body)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// rpcText is a JSON-RPC request.
func rpcText(method string, params any) string {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// sendAs sends a request as a user, to a path below an agent.
func sendAs(t testing.TB, server *httptest.Server, who domain.Caller, method, path, body string, header ...string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/echo"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-User", who.Username)
	request.Header.Set("X-Restriction", who.Restriction)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// postAs sends a request of JSON-RPC.
func postAs(t testing.TB, server *httptest.Server, who domain.Caller, body string, header ...string) *http.Response {
	t.Helper()
	return sendAs(t, server, who, http.MethodPost, "", body, append([]string{"Content-Type", "application/json"}, header...)...)
}

// sseEvent is one event of a stream.
type sseEvent struct{ id, data string }

// read returns the next event of a stream, io.EOF at its end.
func read(lines *bufio.Reader) (sseEvent, error) {
	var event sseEvent
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return event, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && event != (sseEvent{}):
			return event, nil
		case strings.HasPrefix(line, "id: "):
			event.id = line[len("id: "):]
		case strings.HasPrefix(line, "data: "):
			event.data = line[len("data: "):]
		}
	}
}

// ids joins the ids of events.
func ids(events []sseEvent) string {
	var all []string
	for _, event := range events {
		all = append(all, event.id)
	}
	return strings.Join(all, " ")
}

// gate lets a script wait for its test.
type gate chan struct{}

func (g gate) open() { close(g) }

func (g gate) wait(ctx context.Context) {
	select {
	case <-g:
	case <-ctx.Done():
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// kindOf returns the kind that an event is stored with.
func kindOf(event a2a.Event) domain.EventKind {
	stored, err := a2ajson.Encode(0, event)
	if err != nil {
		panic(err)
	}
	return stored.Kind
}
