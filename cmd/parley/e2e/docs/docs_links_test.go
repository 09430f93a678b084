package docs

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/e2etest"
)

// TestDocumentedPolicy holds what docs/security.md says of the page to what it
// comes with.
func TestDocumentedPolicy(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	response, err := http.Get(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	policy := response.Header.Get("Content-Security-Policy")
	if policy == "" || !strings.Contains(e2etest.ReadFile(t, "../../../../docs/security.md"), "\n"+policy+"\n") {
		t.Errorf("the page comes with %q", policy)
	}
}
