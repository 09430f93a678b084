package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// entry is an agent in the catalog.
type entry struct{ Name, Description, URL, AgentCard string }

// agents reads the catalog, as everybody may.
func agents(c e2etest.Client) []entry {
	c.T.Helper()
	var list []entry
	if status := (e2etest.Client{Process: c.Process, Token: ""}).Ask("GET", "/a2a", nil, &list); status != http.StatusOK || len(list) != 2 {
		c.T.Fatalf("catalog: %d %+v", status, list)
	}
	return list
}

// streams has the events that each agent sends for a question that one query
// answers.
var streams = map[string][]string{
	"nl2ql": {
		"TASK_STATE_WORKING", "generated-query", "result-data", "TASK_STATE_COMPLETED",
	},
	"assistant": {
		"task TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_WORKING",
		"step-0", "answer", "TASK_STATE_COMPLETED",
	},
}

// artifacts has the names of the artifacts among an agent's events.
func artifacts(agent string) []string {
	return slices.DeleteFunc(slices.Clone(streams[agent]), func(event string) bool { return strings.Contains(event, "TASK_STATE") })
}

// cardParser reads a card in the form that the protocol specifies, which the
// SDK's own parser does not.
func cardParser(text []byte) (*a2a.AgentCard, error) {
	var card a2apb.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, &card); err != nil {
		return nil, err
	}
	return pbconv.FromProtoAgentCard(&card)
}

// connect makes a client for the agent whose card is at an address, and the
// context to call it with.
func connect(ctx context.Context, address, token string, options ...a2aclient.FactoryOption) (context.Context, *a2aclient.Client, error) {
	resolver := agentcard.Resolver{CardParser: cardParser}
	card, err := resolver.Resolve(ctx, address, agentcard.WithPath(""))
	if err != nil {
		return nil, nil, err
	}
	session, credentials := a2aclient.SessionID("mine"), a2aclient.NewInMemoryCredentialsStore()
	for _, requirement := range card.SecurityRequirements {
		for scheme := range requirement {
			credentials.Set(session, scheme, a2aclient.AuthCredential(token))
		}
	}
	auth := &a2aclient.AuthInterceptor{Service: credentials}
	client, err := a2aclient.NewFromCard(ctx, card, append(options, a2aclient.WithCallInterceptors(auth))...)
	return a2aclient.AttachSessionID(ctx, session), client, err
}

// question is what is sent to ask something of the data in a namespace.
func question(text, namespace string) *a2a.SendMessageRequest {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	message.Metadata = map[string]any{"namespace": namespace}
	return &a2a.SendMessageRequest{Message: message}
}

// clientOptions has the bindings of a client, with what each needs.
var clientOptions = map[a2a.TransportProtocol][]a2aclient.FactoryOption{
	a2a.TransportProtocolJSONRPC:  nil,
	a2a.TransportProtocolHTTPJSON: nil,
	a2a.TransportProtocolGRPC:     {a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))},
}

// TestGoClient calls both agents with the client of a2a-go, by each binding that the card
// lists.
func TestGoClient(t *testing.T) {
	t.Parallel()
	for binding, options := range clientOptions {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			c := e2etest.Shop(t)
			prefer := a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}})
			for _, agent := range agents(c) {
				ctx, called, err := connect(t.Context(), agent.AgentCard, c.Token, append(options, prefer)...)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(agent.Name, func(t *testing.T) {
					g := goClient{t, ctx, called, agent.Name}
					g.checkAnswered()
					g.checkHeld(c)
					g.checkErrors()
				})
			}
		})
	}
}

type goClient struct {
	*testing.T
	ctx   context.Context
	c     *a2aclient.Client
	agent string
}

// checkAnswered sends, streams, gets and lists.
func (g goClient) checkAnswered() {
	g.Helper()
	result, err := g.c.SendMessage(g.ctx, question("How many orders are there in Berlin?", "shop"))
	if err != nil {
		g.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok || task.Status.State != a2a.TaskStateCompleted {
		g.Fatalf("sent: %+v", result)
	}
	if got := names(task); !slices.Equal(got, artifacts(g.agent)) {
		g.Errorf("artifacts: %q", got)
	}
	if got := counted(task); got != 2 {
		g.Errorf("orders in Berlin: %v", got)
	}

	var events []string
	var streamed a2a.TaskID
	for event, err := range g.c.SendStreamingMessage(g.ctx, question("How many orders are there?", "shop")) {
		if err != nil {
			g.Fatal(err)
		}
		events = append(events, told(event))
		streamed = event.TaskInfo().TaskID
	}
	if !slices.Equal(events, streams[g.agent]) {
		g.Errorf("streamed: %q", events)
	}

	got, err := g.c.GetTask(g.ctx, &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || got.Status.State != a2a.TaskStateCompleted || counted(got) != 2 || len(got.History) != len(task.History) {
		g.Errorf("got: %+v, %v", got, err)
	}

	var listed []a2a.TaskID
	for token := ""; ; {
		page, err := g.c.ListTasks(g.ctx, &a2a.ListTasksRequest{PageSize: 1, PageToken: token})
		if err != nil || len(page.Tasks) != 1 || page.TotalSize != 2 {
			g.Fatalf("list: %+v, %v", page, err)
		}
		listed = append(listed, page.Tasks[0].ID)
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if !slices.Equal(listed, []a2a.TaskID{streamed, task.ID}) {
		g.Errorf("listed: %q, want %q and %q", listed, streamed, task.ID)
	}
}

// checkHeld subscribes to tasks that are being worked on; it cancels one and
// sees the other end.
func (g goClient) checkHeld(c e2etest.Client) {
	g.Helper()
	for _, end := range []a2a.TaskState{a2a.TaskStateCanceled, a2a.TaskStateCompleted} {
		letGo := c.Hold()
		request := question("How many orders are there?", "shop")
		request.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		result, err := g.c.SendMessage(g.ctx, request)
		if err != nil {
			g.Fatal(err)
		}
		task, ok := result.(*a2a.Task)
		if !ok || task.Status.State.Terminal() {
			g.Fatalf("sent: %+v", result)
		}
		var events []string
		for event, err := range g.c.SubscribeToTask(g.ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
			if err != nil {
				g.Fatal(err)
			}
			events = append(events, told(event))
			switch {
			case len(events) > 1:
			case end == a2a.TaskStateCompleted:
				letGo()
			default:
				canceled, err := g.c.CancelTask(g.ctx, &a2a.CancelTaskRequest{ID: task.ID})
				if err != nil || canceled.Status.State != end {
					g.Errorf("cancel: %+v, %v", canceled, err)
				}
			}
		}
		letGo()
		if !heldUntil(end, events) {
			g.Errorf("subscribed, until %s: %q", end, events)
		}
		if got, err := g.c.GetTask(g.ctx, &a2a.GetTaskRequest{ID: task.ID}); err != nil || got.Status.State != end {
			g.Errorf("got: %+v, %v", got, err)
		}
	}
}

// heldUntil reports whether events begin with a task that has not ended, and
// end as they should.
func heldUntil(end a2a.TaskState, events []string) bool {
	return len(events) > 1 && slices.Contains([]string{"task TASK_STATE_SUBMITTED", "task TASK_STATE_WORKING"}, events[0]) &&
		events[len(events)-1] == string(end)
}

func (g goClient) checkErrors() {
	g.Helper()
	page, err := g.c.ListTasks(g.ctx, &a2a.ListTasksRequest{Status: a2a.TaskStateCompleted})
	if err != nil {
		g.Fatal(err)
	}
	ended := page.Tasks[0].ID
	if _, err := g.c.CancelTask(g.ctx, &a2a.CancelTaskRequest{ID: ended}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		g.Errorf("cancel a task that has ended: %v", err)
	}
	if _, err := g.c.GetTask(g.ctx, &a2a.GetTaskRequest{ID: a2a.NewTaskID()}); !errors.Is(err, a2a.ErrTaskNotFound) {
		g.Errorf("get an unknown task: %v", err)
	}
	if _, err := g.c.SendMessage(g.ctx, question("How many orders are there?", "elsewhere")); !errors.Is(err, a2a.ErrInvalidParams) {
		g.Errorf("ask in an unknown namespace: %v", err)
	}
	_, err = g.c.SendMessage(g.Context(), question("How many orders are there?", "shop"))
	if err == nil || !errors.Is(err, a2a.ErrUnauthenticated) && !strings.Contains(err.Error(), "401") {
		g.Errorf("ask without a token: %v", err)
	}
	refused := 0
	for event, err := range g.c.SubscribeToTask(g.ctx, &a2a.SubscribeToTaskRequest{ID: ended}) {
		if refused++; !errors.Is(err, a2a.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "the task has ended") {
			g.Errorf("subscribed to a task that has ended: %v, %v", event, err)
		}
	}
	for event, err := range g.c.SendStreamingMessage(g.ctx, question("How many orders are there?", "elsewhere")) {
		if refused++; !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "namespace not found") {
			g.Errorf("stream in an unknown namespace: %v, %v", event, err)
		}
	}
	if refused != 2 {
		g.Errorf("%d refused streams gave an error, not 2", refused)
	}
}

// TestGoClientAndCards shows what a2a-go 2.4 does with a card in the protocol's
// form. When it fails, the SDK reads one, and docs/a2a/go.md can be simpler.
func TestGoClientAndCards(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	agent := agents(c)[0]
	const complaint = "AgentCard.securityRequirements.schemes of type a2a.SecuritySchemeScopes"
	if card, err := agentcard.DefaultResolver.Resolve(t.Context(), agent.URL); err == nil || !strings.Contains(err.Error(), complaint) {
		t.Errorf("the default resolver gave %+v, %v", card, err)
	}
	ctx, called, err := connect(t.Context(), agent.AgentCard, c.Token)
	if err != nil {
		t.Fatal(err)
	}
	if card, err := called.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); err == nil || !strings.Contains(err.Error(), complaint) {
		t.Errorf("the client gave the extended card %+v, %v", card, err)
	}
}

// told says in a word or two what an event says.
func told(event a2a.Event) string {
	switch e := event.(type) {
	case *a2a.Task:
		return "task " + string(e.Status.State)
	case *a2a.TaskStatusUpdateEvent:
		return string(e.Status.State)
	case *a2a.TaskArtifactUpdateEvent:
		return string(e.Artifact.ID)
	}
	return fmt.Sprintf("%T", event)
}

func names(task *a2a.Task) []string {
	var list []string
	for _, artifact := range task.Artifacts {
		list = append(list, artifact.Name)
	}
	return list
}

// counted is the one number in the rows of a task's first data.
func counted(task *a2a.Task) float64 {
	for _, artifact := range task.Artifacts {
		for _, part := range artifact.Parts {
			data, _ := part.Data().(map[string]any)
			rows, _ := data["rows"].([]any)
			for _, row := range rows {
				cells, _ := row.(map[string]any)
				for _, cell := range cells {
					if number, ok := cell.(float64); ok {
						return number
					}
				}
			}
		}
	}
	return -1
}

// TestNamespaceCard asks by the card of a namespace, in each binding: the namespace is
// named nowhere else, and the user has another one. Others get nothing by it.
func TestNamespaceCard(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	c.NewDataset("other", "things")
	stranger := c.Process.Token("mallory")
	for binding, options := range clientOptions {
		t.Run(string(binding), func(t *testing.T) {
			for _, agent := range agents(c) {
				address := agent.URL + "/alice/shop/.well-known/agent-card.json"
				resolver := agentcard.Resolver{CardParser: cardParser}
				card, err := resolver.Resolve(t.Context(), address, agentcard.WithPath(""), agentcard.WithRequestHeader("Authorization", "Bearer "+c.Token))
				if err != nil {
					t.Fatal(err)
				}
				prefer := a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}})
				client, err := a2aclient.NewFromCard(t.Context(), card, append(options, prefer)...)
				if err != nil {
					t.Fatal(err)
				}
				as := func(token string) context.Context {
					return a2aclient.AttachServiceParams(t.Context(), a2aclient.ServiceParams{"Authorization": {"Bearer " + token}})
				}
				ask := question("How many orders are there in Berlin?", "")
				ask.Message.Metadata = nil
				result, err := client.SendMessage(as(c.Token), ask)
				if task, ok := result.(*a2a.Task); err != nil || !ok || counted(task) != 2 {
					t.Errorf("%s: %+v, %v", agent.Name, result, err)
				}
				ask.Message.ID = a2a.NewMessageID()
				if result, err := client.SendMessage(as(stranger), ask); !errors.Is(err, a2a.ErrInvalidParams) {
					t.Errorf("%s: a stranger got %+v, %v", agent.Name, result, err)
				}
			}
		})
	}
}
