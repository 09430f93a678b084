// Package cli tests the commands of the program as people and scripts use them.
package cli

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m, 6)) }
