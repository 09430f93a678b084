package e2etest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Fence finds the blocks of code in a text, and their languages.
var Fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// Documents returns the texts of all documents by their paths from the root.
func Documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	root := Root(t)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/a2a/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			texts[strings.TrimPrefix(path, root+"/")] = ReadFile(t, path)
		}
	}
	return texts
}
