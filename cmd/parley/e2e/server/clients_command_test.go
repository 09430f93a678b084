package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// TestCommand calls both agents with the a2a command of a2a-go, by each binding.
func TestCommand(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	path := e2etest.A2ACommand(t)
	for _, transport := range []string{"jsonrpc", "rest", "grpc"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			c := e2etest.Shop(t)
			awaitExamples(t, c.Process)
			for _, agent := range agents(c) {
				flags := []string{"--transport", transport, "--insecure", "--output", "json"}
				if transport == "grpc" { // the address names no agent
					flags = append(flags, "--tenant", agent.Name)
				}
				t.Run(agent.Name, func(t *testing.T) {
					a := a2aCommand{t, path, agent.URL, c.Token, transport, flags}
					a.checkAnswered(agent.Name)
					a.checkHeld(c)
				})
			}
		})
	}
}

type a2aCommand struct {
	*testing.T
	path, url, token, transport string
	flags                       []string
}

// run returns what the command prints. It skips the card, which it cannot read.
func (a a2aCommand) run(words ...string) (string, error) {
	a.Helper()
	return a.try(append(words, a.flags...)...)
}

func (a a2aCommand) try(words ...string) (string, error) {
	a.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(a.Context(), a.path, append(words, "--auth", "Bearer "+a.token)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		err = errors.New(stderr.String())
	case err != nil:
		a.Fatal(err)
	}
	return stdout.String(), err
}

// task runs the command and reads the task that it prints.
func (a a2aCommand) task(words ...string) a2a.Task {
	a.Helper()
	var task a2a.Task
	text, err := a.run(words...)
	if err == nil {
		err = json.Unmarshal([]byte(text), &task)
	}
	if err != nil {
		a.Fatalf("a2a %s: %v\n%s", words[0], err, text)
	}
	return task
}

func toShop(text string) string {
	return `{"role":"ROLE_USER","parts":[{"text":"` + text + `"}],"metadata":{"namespace":"shop"}}`
}

func (a a2aCommand) checkAnswered(agent string) {
	a.Helper()
	sent := a.task("send", a.url, "--json", toShop("How many orders are there in Berlin?"))
	if sent.Status.State != a2a.TaskStateCompleted || counted(&sent) != 2 || !slices.Equal(names(&sent), artifacts(agent)) {
		a.Errorf("sent: %+v", sent)
	}
	text, err := a.run("send", a.url, "--stream", "--json", toShop("How many orders are there?"))
	if got := toldIn(a.T, strings.NewReader(text)); err != nil || !slices.Equal(got, streams[agent]) {
		a.Errorf("streamed: %q, %v", got, err)
	}
	if got := a.task("get", "task", a.url, string(sent.ID)); got.Status.State != a2a.TaskStateCompleted || counted(&got) != 2 {
		a.Errorf("got: %+v", got)
	}

	text, err = a.run("list", "tasks", a.url, "--limit", "1")
	var page a2a.ListTasksResponse
	if err := errors.Join(err, json.Unmarshal([]byte(text), &page)); err != nil || len(page.Tasks) != 1 || page.TotalSize != 2 {
		a.Fatalf("listed: %s, %v", text, err)
	}
	text, err = a.run("list", "tasks", a.url, "--limit", "1", "--page-token", page.NextPageToken)
	page = a2a.ListTasksResponse{}
	if err := errors.Join(err, json.Unmarshal([]byte(text), &page)); err != nil || len(page.Tasks) != 1 || page.Tasks[0].ID != sent.ID || page.NextPageToken != "" {
		a.Errorf("listed: %s, %v", text, err)
	}

	// Without metadata, the only namespace there is.
	if plain := a.task("send", a.url, "How many orders are there in Berlin?"); counted(&plain) != 2 {
		a.Errorf("sent without a namespace: %+v", plain)
	}
	for _, refused := range []struct {
		why   string
		words []string
	}{
		{"the task has ended", []string{"cancel", a.url, string(sent.ID)}},
		{"task not found", []string{"get", "task", a.url, string(a2a.NewTaskID())}},
	} {
		if text, err := a.run(refused.words...); err == nil || !strings.Contains(err.Error(), refused.why) {
			a.Errorf("a2a %s: %s, %v", refused.words[0], text, err)
		}
	}
	// See TestGoClientAndCards. Over gRPC a card is a message.
	if text, err := a.run("discover", a.url, "--extended"); a.transport != "grpc" && (err == nil || !strings.Contains(err.Error(), "AgentCard.securityRequirements")) ||
		a.transport == "grpc" && (err != nil || !strings.Contains(text, `"examples"`)) {
		a.Errorf("discovered: %s, %v", text, err)
	}
	if text, err := a.try("discover", a.url); err == nil || !strings.Contains(err.Error(), "AgentCard.securityRequirements") {
		a.Errorf("discovered: %s, %v", text, err)
	}
	stranger := a
	stranger.token = "nobody"
	if text, err := stranger.run("get", "task", a.url, string(sent.ID)); err == nil || !strings.Contains(err.Error(), "401") && !strings.Contains(err.Error(), "the token is malformed") {
		a.Errorf("a stranger got %s, %v", text, err)
	}
}

// checkHeld subscribes to a task that is being worked on, and cancels it.
func (a a2aCommand) checkHeld(c e2etest.Client) {
	a.Helper()
	letGo := c.Hold()
	defer letGo()
	sent := a.task("send", a.url, "--immediate", "--json", toShop("How many orders are there?"))
	if sent.Status.State.Terminal() {
		a.Fatalf("sent: %+v", sent)
	}
	ctx, cancel := context.WithCancel(a.Context())
	defer cancel()
	subscribe := exec.CommandContext(ctx, a.path, append([]string{"subscribe", a.url, string(sent.ID), "--auth", "Bearer " + a.token}, a.flags...)...)
	events, err := subscribe.StdoutPipe()
	if err == nil {
		err = subscribe.Start()
	}
	if err != nil {
		a.Fatal(err)
	}
	var first bytes.Buffer
	if _, err := io.CopyN(&first, events, 1); err != nil {
		a.Fatalf("subscribe: %v", err)
	}
	if canceled := a.task("cancel", a.url, string(sent.ID)); canceled.Status.State != a2a.TaskStateCanceled {
		a.Errorf("canceled: %+v", canceled)
	}
	got := toldIn(a.T, io.MultiReader(&first, events))
	if err := subscribe.Wait(); err != nil {
		a.Errorf("subscribe: %v", err)
	}
	if !heldUntil(a2a.TaskStateCanceled, got) {
		a.Errorf("subscribed: %q", got)
	}
}

// toldIn says what the events in a text say.
func toldIn(t *testing.T, text io.Reader) []string {
	t.Helper()
	var list []string
	for decoder := json.NewDecoder(text); ; {
		var event a2a.StreamResponse
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, told(event.Event))
	}
}
