// Package replicas tests several servers on one database.
package replicas

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m, 6)) }
