package docs

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/e2etest"
)

// TestDocumentedClients has docs/a2a.md show code of these tests, and an error as
// it comes.
func TestDocumentedClients(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	code := map[string]string{
		"go": e2etest.ReadFile(t, "../server/clients_test.go"),
		"js": e2etest.ReadFile(t, "../server/testdata/js/client.mjs"),
	}
	for _, block := range e2etest.Fence.FindAllStringSubmatch(e2etest.ReadFile(t, "../../../../docs/a2a.md"), -1) {
		switch language, text := block[1], block[2]; {
		case language == "sh", language == "":
		case language == "json":
			if got := refusal(c); got != text {
				t.Errorf("an error is\n%swant\n%s", got, text)
			}
		case !strings.Contains(code[language], text):
			t.Errorf("this is not in the tests:\n%s", text)
		}
	}
}

// refusal is the answer to a question that names no namespace.
func refusal(c e2etest.Client) string {
	c.T.Helper()
	_, text := c.Call(c.Token, "POST", "/api/v1/a2a/nl2ql", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{
		"message":{"messageId":"question-1","role":"ROLE_USER","parts":[{"text":"How many?"}]}}}`)
	return strings.TrimSpace(text) + "\n"
}
