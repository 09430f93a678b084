package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestEvalConversation asks a question after another one, which it leans on.
func TestEvalConversation(t *testing.T) {
	t.Parallel()
	suite := t.TempDir()
	for name, text := range map[string]string{
		"suite.json":            `{"name": "talk"}`,
		"shop/tables/items.csv": "id,colour\n1,Red\n2,Red\n3,Blue\n",
		"shop/questions.jsonl": `{"id": "1", "question": "And Blue?", "after": ["How many items have the colour Red?"], "answer": [[1]]}
{"id": "2", "question": "And Blue?", "after": ["How many items have the colour Red?", "How many zeppelins flew?"], "answer": [[1]]}
`,
	} {
		path := filepath.Join(suite, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := e2etest.RunCommand(t, t.TempDir(), nil, "eval", suite, "--agent", "assistant")
	if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "all      2   100.0 %") {
		t.Errorf("%+v", got)
	}
}
