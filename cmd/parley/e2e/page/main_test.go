// Package page tests the page in a browser, as people use it.
package page

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) {
	code := e2etest.Main(m, 2) // browsers do not wait
	closeChromium()
	os.Exit(code)
}
