package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fence finds the blocks of code in a text, and their languages.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestDocumented has docs/a2a.md tell the truth: its commands are run, and its
// other code is code of these tests.
func TestDocumented(t *testing.T) {
	t.Parallel()
	c := shop(t)
	doc := readFile(t, "../../docs/a2a.md")
	code := map[string]string{
		"go": readFile(t, "clients_test.go"),
		"js": readFile(t, "testdata/js/client.mjs"),
	}
	var commands []string
	for _, block := range fence.FindAllStringSubmatch(doc, -1) {
		switch language, text := block[1], block[2]; {
		case language == "sh":
			commands = append(commands, text)
		case language == "json":
			if got := c.refusal(); got != text {
				t.Errorf("an error is\n%swant\n%s", got, text)
			}
		case !strings.Contains(code[language], text):
			t.Errorf("this is not in the tests:\n%s", text)
		}
	}

	env := append(os.Environ(), "BASE="+c.url+"/api/v1", "TOKEN="+c.token, "TASK="+c.answered(),
		"PATH="+filepath.Dir(buildCommand(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	wanted := [][]string{
		{`"agentCard":"` + c.url + `/api/v1/a2a/assistant/.well-known/agent-card.json"`, `"securityRequirements":[{"schemes":{"bearer":`},
		{`"state":"TASK_STATE_COMPLETED"`, `"count":2`},
		{"id: 1\ndata: {", `"task":{`, "The count is **3**", `"state":"TASK_STATE_COMPLETED"`},
		{"id: 3\ndata: {", `"state":"TASK_STATE_COMPLETED"`},
		{"completed", `"count":3`},
	}
	if len(commands) != len(wanted) {
		t.Fatalf("%d blocks of commands, want %d", len(commands), len(wanted))
	}
	for i, text := range commands {
		shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
		shell.Env = env
		output, err := shell.CombinedOutput()
		lacks := func(want string) bool { return !strings.Contains(string(output), want) }
		if err != nil || slices.ContainsFunc(wanted[i], lacks) {
			t.Errorf("%s%s\n%v, want %q", text, output, err, wanted[i])
		}
	}
}

// answered asks the assistant something and gives the id of the task.
func (c client) answered() string {
	c.t.Helper()
	var answer struct{ RunID string }
	c.ask("POST", "/query/autorag", object{"username": "self", "namespace": "shop", "query": "How many orders are there?"}, &answer)
	if answer.RunID == "" {
		c.t.Fatal("no answer")
	}
	return answer.RunID
}

// refusal is the answer to a question that names no namespace.
func (c client) refusal() string {
	c.t.Helper()
	_, text := c.call(c.token, "POST", "/api/v1/a2a/nl2ql", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{
		"message":{"messageId":"question-1","role":"ROLE_USER","parts":[{"text":"How many?"}]}}}`)
	return strings.TrimSpace(text) + "\n"
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
