package net

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/waittest"
)

// TestParallelPanic recovers, where parallel was called, from panics in its helpers.
func TestParallelPanic(t *testing.T) {
	procs := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(procs)
	for range 100 {
		func() {
			defer func() {
				if cause := fmt.Sprint(recover()); !strings.Contains(cause, "index out of range") {
					t.Errorf("recovered from %q", cause)
				}
			}()
			parallel(64, func(from, to int) { _ = make([]float32, from)[to] })
			t.Error("no panic")
		}()
	}
	waittest.Until(t, "all helpers to end", func() bool { return activeHelpers.Load() == 0 })
}
