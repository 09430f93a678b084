// Package docs tests what the documents say against the program, and its imports against the
// rules that CONVENTIONS.md describes.
package docs

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m, 6)) }
