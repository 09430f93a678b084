package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// serveGRPC is dialGRPC for a client.
func serveGRPC(t testing.TB, h *Host) a2apb.A2AServiceClient {
	t.Helper()
	return a2apb.NewA2AServiceClient(dialGRPC(t, h))
}

// dialGRPC serves a host over HTTP/2 without TLS, and gives a connection. The caller is in
// the metadata, as in serveHost.
func dialGRPC(t testing.TB, h *Host) *grpc.ClientConn {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := auth.Session{Caller: domain.Caller{Username: r.Header.Get("X-User"), Restriction: r.Header.Get("X-Restriction")}}
		var refused error
		if session.Caller.Username == "" {
			refused = domain.Errorf(domain.ErrUnauthorized, "a valid bearer token is required")
		}
		h.ServeGRPC(w, r, session, refused)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	conn, err := grpc.NewClient(server.Listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Close()
	})
	return conn
}

// grpcAs returns the context of a user's calls, with more metadata.
func grpcAs(t testing.TB, who domain.Caller, pairs ...string) context.Context {
	pairs = append(pairs, "x-user", who.Username, "x-restriction", who.Restriction)
	return metadata.AppendToOutgoingContext(t.Context(), pairs...)
}

// inGRPC returns JSON as a request of gRPC.
func inGRPC[M proto.Message](t testing.TB, text string, into M) M {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	return into
}

func askShop(t testing.TB) *a2apb.SendMessageRequest {
	t.Helper()
	text, err := json.Marshal(toShop("how many?"))
	if err != nil {
		t.Fatal(err)
	}
	return inGRPC(t, string(text), new(a2apb.SendMessageRequest))
}

// received reads a stream to its end.
func received(stream grpc.ServerStreamingClient[a2apb.StreamResponse], err error) (events []*a2apb.StreamResponse, _ error) {
	for err == nil {
		var event *a2apb.StreamResponse
		if event, err = stream.Recv(); err == nil {
			events = append(events, event)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return events, err
}

// TestGRPC has what JSON-RPC gives, as messages.
func TestGRPC(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		h := newHost(t, store, fourEvents, func(cfg *Config) { cfg.DefaultAgent = "echo" })
		server, client := serveHost(t, h), serveGRPC(t, h)
		ctx := grpcAs(t, alice)
		events, err := received(client.SendStreamingMessage(ctx, askShop(t)))
		if err != nil || len(events) != 4 {
			t.Fatalf("streamed: %v, %v", events, err)
		}
		id := events[0].GetStatusUpdate().GetTaskId()
		sameJSON := func(got, want proto.Message, method string, params any) {
			t.Helper()
			var answer struct{ Result json.RawMessage }
			text := textOf(t, postAs(t, server, alice, rpcText(method, params)))
			err := json.Unmarshal([]byte(text), &answer)
			if err == nil {
				err = protojson.Unmarshal(answer.Result, want)
			}
			if err != nil || !proto.Equal(got, want) {
				t.Errorf("%s: %v, JSON-RPC %s, %v", method, got, text, err)
			}
		}
		task, err := client.GetTask(ctx, &a2apb.GetTaskRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(task, new(a2apb.Task), "GetTask", map[string]any{"id": id})
		list, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{IncludeArtifacts: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(list, new(a2apb.ListTasksResponse), "ListTasks", map[string]any{"includeArtifacts": true})
		replayed := eventsOf(t, postAs(t, server, alice, rpcText("SubscribeToTask", map[string]any{"id": id}), "Last-Event-ID", "0"))
		for i, event := range events {
			var answer struct{ Result json.RawMessage }
			want := new(a2apb.StreamResponse)
			if err := json.Unmarshal([]byte(replayed[i].data), &answer); err != nil {
				t.Fatal(err)
			}
			if inGRPC(t, string(answer.Result), want); !proto.Equal(event, want) {
				t.Errorf("event %d: %v, JSON-RPC %s", i, event, replayed[i].data)
			}
		}
		sent, err := client.SendMessage(ctx, askShop(t))
		if err != nil || sent.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("sent: %v, %v", sent, err)
		}
	})
}

// TestGRPCAgent has the agent named in each way there is.
func TestGRPCAgent(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) {
		other := cfg.Agents[0]
		other.Name = "other"
		cfg.Agents = append(cfg.Agents, other)
		cfg.DefaultAgent = "echo"
	})
	client := serveGRPC(t, h)
	for _, test := range []struct {
		tenant, agent string // "" for none
		named         string
	}{
		{"", "", "echo"}, {"other", "", "other"}, {"other/alice/shop", "", "other"}, {"other/", "", "other"},
		{"alice/shop", "other", "other"}, {"echo", "other", "other"}, {"other/alice/shop", "other", "other"}, {"alice/shop", "", "echo"},
	} {
		pairs := []string{agentKey, test.agent}
		if test.agent == "" {
			pairs = nil
		}
		request := askShop(t)
		request.Tenant = test.tenant
		sent, err := client.SendMessage(grpcAs(t, alice, pairs...), request)
		if err != nil {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		run, err := store.Run(t.Context(), alice, sent.GetTask().GetId())
		if err != nil || run.Agent != test.named {
			t.Errorf("%+v: %s, %v", test, run.Agent, err)
		}
	}
	// A namespace may be called like an agent.
	namespaces(t, store, "alice/echo")
	for _, tenant := range []string{"echo", "alice/echo", "other/echo"} {
		request := askShop(t)
		request.Tenant, request.Message.Metadata = tenant, nil
		sent, err := client.SendMessage(grpcAs(t, alice, agentKey, "other"), request)
		if err != nil {
			t.Errorf("%s: %v", tenant, err)
		} else if got := namespaceOf(t, store, alice, sent.GetTask().GetContextId()); got != "alice/echo" {
			t.Errorf("%s: asked %s", tenant, got)
		}
	}
	if _, err := client.ListTasks(grpcAs(t, alice, agentKey, "nobody"), &a2apb.ListTasksRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown agent: %v", err)
	}
}

func TestGRPCErrors(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) { cfg.DefaultAgent, cfg.MaxMessage = "echo", 1<<10 })
	client := serveGRPC(t, h)
	unknown := &a2apb.GetTaskRequest{Id: "00000000-0000-0000-0000-000000000000"}
	_, err := client.GetTask(grpcAs(t, alice), unknown)
	said := status.Convert(err)
	info, _ := said.Details()[0].(*errdetails.ErrorInfo)
	if said.Code() != codes.NotFound || said.Message() != "task not found" || info.GetReason() != "TASK_NOT_FOUND" || info.GetDomain() != "a2a-protocol.org" {
		t.Errorf("an unknown task: %v %v", said, said.Details())
	}
	_, err = client.SendMessage(grpcAs(t, alice), &a2apb.SendMessageRequest{})
	said = status.Convert(err)
	wrong, _ := said.Details()[1].(*errdetails.BadRequest)
	if said.Code() != codes.InvalidArgument || len(wrong.GetFieldViolations()) == 0 {
		t.Errorf("no message: %v %v", said, said.Details())
	}
	for name, test := range map[string]struct {
		ctx  context.Context
		call func(ctx context.Context) error
		code codes.Code
	}{
		"no caller": {grpcAs(t, domain.Caller{}), func(ctx context.Context) error {
			_, err := client.GetTask(ctx, unknown)
			return err
		}, codes.Unauthenticated},
		"no caller of a stream": {grpcAs(t, domain.Caller{}), func(ctx context.Context) error {
			_, err := received(client.SendStreamingMessage(ctx, askShop(t)))
			return err
		}, codes.Unauthenticated},
		"another version": {grpcAs(t, alice, "a2a-version", "0.3"), func(ctx context.Context) error {
			_, err := client.GetTask(ctx, unknown)
			return err
		}, codes.FailedPrecondition},
		"a patch": {grpcAs(t, alice, "a2a-version", "1.0.9"), func(ctx context.Context) error {
			_, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{})
			return err
		}, codes.OK},
		"too large": {grpcAs(t, alice), func(ctx context.Context) error {
			_, err := client.GetTask(ctx, &a2apb.GetTaskRequest{Id: strings.Repeat("x", 1<<11)})
			return err
		}, codes.ResourceExhausted},
		"a refused stream": {grpcAs(t, alice), func(ctx context.Context) error {
			events, err := received(client.SubscribeToTask(ctx, &a2apb.SubscribeToTaskRequest{Id: unknown.GetId()}))
			if len(events) > 0 {
				t.Errorf("events of a refused stream: %v", events)
			}
			return err
		}, codes.NotFound},
	} {
		if err := test.call(test.ctx); status.Code(err) != test.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A request that cannot be read is the client's fault, as in other bindings, and its answer
// does not show how it was read.
func TestGRPCUnreadableRequests(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	var log logtest.Buffer
	h := newHost(t, store, fourEvents, func(cfg *Config) {
		cfg.DefaultAgent, cfg.MaxMessage, cfg.Logger = "echo", 1<<20, slog.New(slog.NewTextHandler(&log, nil))
	})
	conn := dialGRPC(t, h)
	raw := grpc.ForceCodecV2(rawCodec{})
	unary := func(ctx context.Context, method string, body []byte) error {
		return conn.Invoke(ctx, "/lf.a2a.v1.A2AService/"+method, body, new([]byte), raw)
	}
	stream := func(ctx context.Context, method string, body []byte) error {
		calls, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/lf.a2a.v1.A2AService/"+method, raw)
		if err == nil {
			err = errors.Join(calls.SendMsg(body), calls.CloseSend())
		}
		if err == nil {
			err = calls.RecvMsg(new([]byte))
		}
		return err
	}
	deep := bytes.Repeat([]byte{0x0a, 0x02}, 3) // a length that goes past the end
	for method, call := range map[string]func(context.Context, string, []byte) error{
		"GetTask": unary, "SendMessage": unary, "SendStreamingMessage": stream, "SubscribeToTask": stream,
	} {
		for name, body := range map[string][]byte{
			"not a message": []byte("\xff\xff\xff"), "not UTF-8": {0x0a, 0x02, 0xff, 0xfe}, "cut off": {0x0a, 0x7f, 'x'}, "lengths": deep,
		} {
			said := status.Convert(call(grpcAs(t, alice), method, body))
			if said.Code() != codes.InvalidArgument || len(said.Details()) != 2 || strings.Contains(said.Message(), "proto") || strings.Contains(said.Message(), "grpc") {
				t.Errorf("%s, %s: %v", method, name, said)
			}
			if code := status.Code(call(grpcAs(t, domain.Caller{}), method, body)); code != codes.Unauthenticated {
				t.Errorf("%s, %s, without a token: %v", method, name, code)
			}
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("logged as a fault of the server: %s", log.String())
	}
}

// A call has one message. The first of several is not answered alone, and starts nothing.
func TestGRPCSeveralMessages(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) { cfg.DefaultAgent = "echo" })
	conn := dialGRPC(t, h)
	send := func(method string, messages ...proto.Message) error {
		calls, err := conn.NewStream(grpcAs(t, alice), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/lf.a2a.v1.A2AService/"+method)
		if err != nil {
			return err
		}
		for _, message := range messages {
			if err := calls.SendMsg(message); err != nil {
				return err
			}
		}
		if err := calls.CloseSend(); err != nil {
			return err
		}
		return calls.RecvMsg(new(a2apb.ListTasksResponse))
	}
	list := new(a2apb.ListTasksRequest)
	question := inGRPC(t, messageIn(inMyShop), new(a2apb.SendMessageRequest))
	if err := send("ListTasks", list); err != nil {
		t.Errorf("one message: %v", err)
	}
	for method, messages := range map[string][]proto.Message{
		"ListTasks": {list, list}, "SendMessage": {question, question}, "SendStreamingMessage": {question, question}, "GetTask": {},
	} {
		if code := status.Code(send(method, messages...)); code != codes.Internal {
			t.Errorf("%d messages to %s: %v", len(messages), method, code)
		}
	}
	tasks, err := a2apb.NewA2AServiceClient(conn).ListTasks(grpcAs(t, alice), list)
	if err != nil || len(tasks.GetTasks()) != 0 {
		t.Errorf("started %v, %v", tasks, err)
	}
}

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// What goes wrong here is logged, and not shown; a panic does not end the process.
func TestGRPCShowsNothingInternal(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	secret := errors.New("pq: secret in /etc/passwd")
	h := newHost(t, sqlstoretest.SQLite(t), fourEvents, func(cfg *Config) {
		cfg.DefaultAgent = "echo"
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		cfg.Agents[0].ExtendedCard = func(_ context.Context, who domain.Caller, _ string) (*a2a.AgentCard, error) {
			if who == bob {
				panic(secret)
			}
			return nil, secret
		}
	})
	client := serveGRPC(t, h)
	for _, who := range []domain.Caller{alice, bob} {
		_, err := client.GetExtendedAgentCard(grpcAs(t, who), &a2apb.GetExtendedAgentCardRequest{})
		if said := status.Convert(err); said.Code() != codes.Internal || said.Message() != jsonrpc.ToError(errStopping).Message {
			t.Errorf("%s: %v", who.Username, err)
		}
	}
	if strings.Count(log.String(), "secret in /etc/passwd") != 2 {
		t.Errorf("log: %s", log.String())
	}
}

// A stream ends as unavailable with its host, and so does not look complete.
func TestGRPCStopping(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if yield(working(request), nil) {
			<-ctx.Done()
		}
	}), func(cfg *Config) { cfg.DefaultAgent = "echo" })
	stream, err := serveGRPC(t, h).SendStreamingMessage(grpcAs(t, alice), askShop(t))
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ended with %v", err)
	}
}

// A compressed request is refused: it may be small and take much memory.
func TestGRPCCompressed(t *testing.T) {
	t.Parallel()
	client := serveGRPC(t, newHost(t, sqlstoretest.SQLite(t), fourEvents, withCards))
	_, err := client.GetExtendedAgentCard(grpcAs(t, alice), &a2apb.GetExtendedAgentCardRequest{}, grpc.UseCompressor(gzip.Name))
	if said := status.Convert(err); said.Code() != codes.Unimplemented || !strings.Contains(said.Message(), "without grpc-encoding") {
		t.Error(err)
	}
}
