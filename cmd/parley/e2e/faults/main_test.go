// Package faults tests servers whose disk, database, network or workers fail, and that are killed.
package faults

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m, 6)) }
