package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// fence finds the blocks of code in a text, and their languages.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// documents returns the texts of all documents by their paths from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	root := e2etest.Root(t)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/a2a/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			texts[strings.TrimPrefix(path, root+"/")] = e2etest.ReadFile(t, path)
		}
	}
	return texts
}
