package docs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestDocumentedClients has the documents on A2A show code of these tests, and errors
// as they come. Code in C# is for a client that the tests do not have.
func TestDocumentedClients(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	code := map[string]string{
		"go": e2etest.ReadFile(t, "../server/clients_test.go"),
		"js": e2etest.ReadFile(t, "../server/testdata/js/client.mjs"),
	}
	scripts, err := filepath.Glob("../clients/testdata/python/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		code["python"] += e2etest.ReadFile(t, script)
	}
	for path, document := range documents(t) {
		if path != "docs/a2a.md" && !strings.HasPrefix(path, "docs/a2a/") {
			continue
		}
		for _, block := range fence.FindAllStringSubmatch(document, -1) {
			switch language, text := block[1], block[2]; language {
			case "sh", "", "csharp":
			case "json":
				if got := refusals(c); !slices.Contains(got, text) {
					t.Errorf("%s: errors are\n%q\nwant\n%s", path, got, text)
				}
			default:
				if !strings.Contains(code[language], text) {
					t.Errorf("%s: this is not in the tests:\n%s", path, text)
				}
			}
		}
	}
}

// refusals are the answers to a message without an id, and over HTTP+JSON to
// one for a task that is not there.
func refusals(c e2etest.Client) []string {
	c.T.Helper()
	_, rpc := c.Call(c.Token, "POST", "/api/v1/a2a/nl2ql", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{
		"message":{"role":"ROLE_USER","parts":[{"text":"How many?"}]}}}`)
	_, http := c.Call(c.Token, "GET", "/api/v1/a2a/nl2ql/tasks/"+uuid.NewString(), "")
	return []string{strings.TrimSpace(rpc) + "\n", strings.TrimSpace(http) + "\n"}
}
