package main

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedClients has docs/a2a.md show code of these tests, and an error as
// it comes.
func TestDocumentedClients(t *testing.T) {
	t.Parallel()
	c := shop(t)
	code := map[string]string{
		"go": readFile(t, "clients_test.go"),
		"js": readFile(t, "testdata/js/client.mjs"),
	}
	for _, block := range fence.FindAllStringSubmatch(readFile(t, "../../docs/a2a.md"), -1) {
		switch language, text := block[1], block[2]; {
		case language == "sh", language == "":
		case language == "json":
			if got := c.refusal(); got != text {
				t.Errorf("an error is\n%swant\n%s", got, text)
			}
		case !strings.Contains(code[language], text):
			t.Errorf("this is not in the tests:\n%s", text)
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

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
