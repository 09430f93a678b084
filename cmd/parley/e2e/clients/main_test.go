// Package clients runs the clients of other languages that the documents describe, each in the version
// of a list beside its script, against a server.
package clients

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m, 3)) }
