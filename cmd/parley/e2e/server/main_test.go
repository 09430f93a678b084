// Package server tests a server by its API and A2A: data, questions, models, access, metrics.
package server

import (
	"os"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m, 6)) }
