package server

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/nodetest"
	"parley/cmd/parley/e2e/helpers/servertest"
)

// TestJavaScriptClient calls both agents with the client of @a2a-js/sdk, by each binding
// that it has.
func TestJavaScriptClient(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	dir := installed(t, "js")
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			c := e2etest.Shop(t)
			awaitExamples(t, c.Process)
			for _, agent := range agents(c) {
				t.Run(agent.Name, func(t *testing.T) {
					j := javaScript{t, c, dir, agent.Name, binding}
					j.checkAnswered()
					j.checkHeld()
				})
			}
		})
	}
}

// installed returns a folder with the npm packages that a folder of testdata names.
func installed(t *testing.T, name string) string {
	t.Helper()
	dir, err := nodetest.Packages(t, filepath.Join("testdata", name))
	if err != nil {
		servertest.Lacking(t, "this test needs npm packages: %v", err)
	}
	return dir
}

type javaScript struct {
	*testing.T
	c     e2etest.Client
	dir   string
	agent string
	// binding is the one that the client uses.
	binding string
}

// run runs the client and gives what it printed, by step.
func (j javaScript) run(what string) map[string][]json.RawMessage {
	j.Helper()
	path := nodetest.Script(j, j.dir, "testdata/js/client.mjs")
	cmd := exec.CommandContext(j.Context(), "node", path, j.c.URL+"/api/v1", j.agent, what, j.binding)
	cmd.Env = append(os.Environ(), "PARLEY_TOKEN="+j.c.Token)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		j.Fatalf("%s: %v\n%s%s", what, err, output, stderr.String())
	}
	steps := map[string][]json.RawMessage{}
	for line := range strings.Lines(string(output)) {
		var printed struct {
			Step  string
			Value json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &printed); err != nil {
			j.Fatalf("%v: %s", err, line)
		}
		steps[printed.Step] = append(steps[printed.Step], printed.Value)
	}
	return steps
}

// into reads the one value that a step printed.
func (j javaScript) into(values []json.RawMessage, value any) {
	j.Helper()
	if len(values) != 1 {
		j.Fatalf("%d values, want one: %s", len(values), values)
	}
	if err := json.Unmarshal(values[0], value); err != nil {
		j.Fatal(err)
	}
}

func (j javaScript) checkAnswered() {
	j.Helper()
	steps := j.run("answered")
	var card a2apb.AgentCard
	if err := protojson.Unmarshal(steps["card"][0], &card); err != nil {
		j.Fatalf("card: %v", err)
	}
	if card.GetName() != j.agent || len(card.GetSecurityRequirements()) != 1 || len(card.GetSkills()[0].GetExamples()) == 0 {
		j.Errorf("the extended card is %s", steps["card"][0])
	}

	var sent, got a2a.Task
	j.into(steps["send"], &sent)
	j.into(steps["get"], &got)
	for _, task := range []*a2a.Task{&sent, &got} {
		if task.Status.State != a2a.TaskStateCompleted || counted(task) != 2 || !slices.Equal(names(task), artifacts(j.agent)) {
			j.Errorf("sent or got: %+v", task)
		}
	}
	if got := j.told(steps["stream"]); !slices.Equal(got, streams[j.agent]) {
		j.Errorf("streamed: %q", got)
	}

	if len(steps["list"]) != 2 {
		j.Errorf("pages: %s", steps["list"])
	}
	for _, text := range steps["list"] {
		var page a2a.ListTasksResponse
		if err := json.Unmarshal(text, &page); err != nil || len(page.Tasks) != 1 || page.TotalSize != 2 {
			j.Errorf("listed: %s, %v", text, err)
		}
	}

	stranger := "Error : HTTP error for SendMessage! Status: 401"
	if j.binding == "HTTP+JSON" {
		stranger = "A2AError INTERNAL_ERROR: the token is malformed" // the SDK knows no other reason
	}
	for step, want := range map[string]string{
		"cancel":    "TaskNotCancelableError TASK_NOT_CANCELABLE: the task has ended",
		"subscribe": "UnsupportedOperationError UNSUPPORTED_OPERATION: the task has ended; read it with GetTask",
		"unknown":   "TaskNotFoundError TASK_NOT_FOUND: task not found",
		"nowhere":   "RequestMalformedError INVALID_PARAMS: namespace not found, or no access",
		"stranger":  stranger,
	} {
		for _, text := range steps[step] {
			var refused struct{ Name, Reason, Message string }
			err := json.Unmarshal(text, &refused)
			if said := refused.Name + " " + refused.Reason + ": " + refused.Message; err != nil || !strings.HasPrefix(said, want) {
				j.Errorf("%s: %s, %v", step, text, err)
			}
		}
		if len(steps[step]) == 0 {
			j.Errorf("no %s", step)
		}
	}
}

// checkHeld sees a task canceled that is being worked on.
func (j javaScript) checkHeld() {
	j.Helper()
	letGo := j.c.Hold()
	defer letGo()
	steps := j.run("held")
	var sent, canceled a2a.Task
	j.into(steps["send"], &sent)
	j.into(steps["cancel"], &canceled)
	if sent.Status.State.Terminal() || canceled.Status.State != a2a.TaskStateCanceled || canceled.ID != sent.ID {
		j.Errorf("sent %+v, canceled %+v", sent, canceled)
	}
	if got := j.told(steps["subscribe"]); !heldUntil(a2a.TaskStateCanceled, got) {
		j.Errorf("subscribed: %q", got)
	}
}

// told says what events say.
func (j javaScript) told(events []json.RawMessage) []string {
	j.Helper()
	var list []string
	for _, text := range events {
		var event a2a.StreamResponse
		if err := json.Unmarshal(text, &event); err != nil {
			j.Fatalf("%v: %s", err, text)
		}
		list = append(list, told(event.Event))
	}
	return list
}
