package docs

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
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

// place is a row of a table that says which file has which function.
var place = regexp.MustCompile("\\| `([\\w/]+\\.go)` \\| `(\\w+)` \\|")

// TestDocumentedPlaces looks for what docs/architecture.md says is in a file.
func TestDocumentedPlaces(t *testing.T) {
	t.Parallel()
	const root = "../../../../"
	places := place.FindAllStringSubmatch(e2etest.ReadFile(t, root+"docs/architecture.md"), -1)
	if len(places) < 10 {
		t.Errorf("it names %d places", len(places))
	}
	for _, found := range places {
		file, name := found[1], found[2]
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|\t)` + name + `(\(| += )`)
		if !declared.MatchString(e2etest.ReadFile(t, root+file)) {
			t.Errorf("%s declares no %s", file, name)
		}
	}
}
