package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/nodetest"
)

// TestLegacyGoClient calls both agents with the client of a2a-go 0.3, which knows nothing
// but the address of a card and a token.
func TestLegacyGoClient(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	awaitExamples(t, c.Process)
	for _, agent := range agents(c) {
		t.Run(agent.Name, func(t *testing.T) {
			card, err := agentcard.DefaultResolver.Resolve(t.Context(), agent.URL+"/v0.3")
			if err != nil {
				t.Fatal(err)
			}
			session, credentials := a2aclient.SessionID("mine"), a2aclient.NewInMemoryCredentialsStore()
			for _, requirement := range card.Security {
				for scheme := range requirement {
					credentials.Set(session, scheme, a2aclient.AuthCredential(c.Token))
				}
			}
			client, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithInterceptors(&a2aclient.AuthInterceptor{Service: credentials}))
			if err != nil {
				t.Fatal(err)
			}
			g := legacyGo{t, a2aclient.WithSessionID(t.Context(), session), client, agent.Name}
			g.checkAnswered()
			g.checkHeld(c)
		})
	}
}

type legacyGo struct {
	*testing.T
	ctx   context.Context
	c     *a2aclient.Client
	agent string
}

func legacyQuestion(text, namespace string) *a2a.MessageSendParams {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: text})
	message.Metadata = map[string]any{"namespace": namespace}
	return &a2a.MessageSendParams{Message: message}
}

// inLegacy returns what an agent streams in the words of 0.3.
func inLegacy(agent string) (list []string) {
	for _, event := range streams[agent] {
		list = append(list, strings.ToLower(strings.ReplaceAll(event, "TASK_STATE_", "")))
	}
	return list
}

func (g legacyGo) told(event a2a.Event) string {
	switch e := event.(type) {
	case *a2a.Task:
		return "task " + string(e.Status.State)
	case *a2a.TaskStatusUpdateEvent:
		if e.Final != e.Status.State.Terminal() {
			g.Errorf("final: %+v", e)
		}
		return string(e.Status.State)
	case *a2a.TaskArtifactUpdateEvent:
		return string(e.Artifact.ID)
	}
	g.Errorf("an event: %T", event)
	return ""
}

func (g legacyGo) checkAnswered() {
	g.Helper()
	result, err := g.c.SendMessage(g.ctx, legacyQuestion("How many orders are there in Berlin?", "shop"))
	if err != nil {
		g.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok || task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != len(artifacts(g.agent)) {
		g.Fatalf("sent: %+v", result)
	}
	var events []string
	for event, err := range g.c.SendStreamingMessage(g.ctx, legacyQuestion("How many orders are there?", "shop")) {
		if err != nil {
			g.Fatal(err)
		}
		events = append(events, g.told(event))
	}
	if want := inLegacy(g.agent); !slices.Equal(events, want) {
		g.Errorf("streamed: %q, want %q", events, want)
	}
	got, err := g.c.GetTask(g.ctx, &a2a.TaskQueryParams{ID: task.ID})
	if err != nil || got.Status.State != a2a.TaskStateCompleted || len(got.Artifacts) != len(task.Artifacts) || len(got.History) != len(task.History) {
		g.Errorf("got: %+v, %v", got, err)
	}
	if _, err := g.c.CancelTask(g.ctx, &a2a.TaskIDParams{ID: task.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		g.Errorf("cancel a task that has ended: %v", err)
	}
	if _, err := g.c.GetTask(g.ctx, &a2a.TaskQueryParams{ID: a2a.NewTaskID()}); !errors.Is(err, a2a.ErrTaskNotFound) {
		g.Errorf("get an unknown task: %v", err)
	}
	if _, err := g.c.SendMessage(g.ctx, legacyQuestion("How many orders are there?", "elsewhere")); !errors.Is(err, a2a.ErrInvalidParams) {
		g.Errorf("ask in an unknown namespace: %v", err)
	}
	refused := false
	for _, err := range g.c.ResubscribeToTask(g.ctx, &a2a.TaskIDParams{ID: task.ID}) {
		refused = errors.Is(err, a2a.ErrUnsupportedOperation)
	}
	if !refused {
		g.Error("subscribed to a task that has ended")
	}
	if card, err := g.c.GetAgentCard(g.ctx); err != nil || card.Name != g.agent || len(card.Skills[0].Examples) == 0 {
		g.Errorf("the extended card is %+v, %v", card, err)
	}
}

// checkHeld subscribes to a task that is being worked on, and cancels it.
func (g legacyGo) checkHeld(c e2etest.Client) {
	g.Helper()
	letGo := c.Hold()
	defer letGo()
	request := legacyQuestion("How many orders are there?", "shop")
	request.Config = &a2a.MessageSendConfig{Blocking: new(false)}
	result, err := g.c.SendMessage(g.ctx, request)
	if err != nil {
		g.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok || task.Status.State.Terminal() {
		g.Fatalf("sent: %+v", result)
	}
	var events []string
	for event, err := range g.c.ResubscribeToTask(g.ctx, &a2a.TaskIDParams{ID: task.ID}) {
		if err != nil {
			g.Fatal(err)
		}
		if events = append(events, g.told(event)); len(events) > 1 {
			continue
		}
		if canceled, err := g.c.CancelTask(g.ctx, &a2a.TaskIDParams{ID: task.ID}); err != nil || canceled.Status.State != a2a.TaskStateCanceled {
			g.Errorf("cancel: %+v, %v", canceled, err)
		}
	}
	if len(events) < 2 || !strings.HasPrefix(events[0], "task ") || events[len(events)-1] != "canceled" {
		g.Errorf("subscribed: %q", events)
	}
}

// TestLegacyJavaScriptClient calls both agents with the client of @a2a-js/sdk 0.3.
func TestLegacyJavaScriptClient(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	dir := installed(t, "js03")
	c := e2etest.Shop(t)
	for _, agent := range agents(c) {
		t.Run(agent.Name, func(t *testing.T) {
			script := nodetest.Script(t, dir, "testdata/js03/client.mjs")
			cmd := exec.CommandContext(t.Context(), "node", script, agent.URL+"/v0.3/")
			cmd.Env = append(os.Environ(), "PARLEY_TOKEN="+c.Token)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			output, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, output, stderr.String())
			}
			var got struct {
				Card, Sent, Got, Canceled, Unknown, Ended string
				Streamed                                  []string
			}
			if err := json.Unmarshal(output, &got); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			if got.Card != agent.Name || got.Sent != "task completed" || got.Got != "task completed" || !slices.Equal(got.Streamed, inLegacy(agent.Name)) ||
				got.Canceled != "TaskNotCancelableError" || got.Unknown != "TaskNotFoundError" || got.Ended != "UnsupportedOperationError" {
				t.Errorf("got %s", output)
			}
		})
	}
}

// TestADKRequest sends what the agent development kit does: 0.3, no metadata, and no
// stream. The data is in the only namespace that the user has.
func TestADKRequest(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	const request = `{"id":"7f0c2a0e-1","jsonrpc":"2.0","method":"message/send","params":{
		"configuration":{"acceptedOutputModes":[],"blocking":true},
		"message":{"kind":"message","messageId":"0b1e6f52-2","parts":[{"kind":"text","text":"How many orders are there in Berlin?"}],"role":"user"}}}`
	for _, path := range []string{"/api/v1/a2a/assistant", "/api/v1/a2a/assistant/v0.3"} {
		status, text := c.Call(c.Token, "POST", path, request)
		var answer struct {
			ID     string
			Result a2a.Task
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.ID != "7f0c2a0e-1" ||
			answer.Result.Status.State != a2a.TaskStateCompleted || answer.Result.ContextID == "" {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
