package cli

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
)

// TestDemoNamesModels reads on the screen who answers, and what to set to have a
// model do so.
func TestDemoNamesModels(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	none := startDemo(t, t.TempDir(), nil, "--listen", "127.0.0.1:0").More.String()
	for _, want := range []string{"No language model is set", "set PARLEY_LLM to openai:MODEL", "OPENAI_API_KEY"} {
		if !strings.Contains(none, want) {
			t.Errorf("no %q in\n%s", want, none)
		}
	}
	set := startDemo(t, t.TempDir(), []string{"PARLEY_LLM=ollama:small", "OLLAMA_HOST=http://127.0.0.1:9"}, "--listen", "127.0.0.1:0").More.String()
	if strings.Contains(set, "No language model") || !strings.Contains(set, "Questions are answered by ollama:small.") {
		t.Errorf("with a model:\n%s", set)
	}
}
