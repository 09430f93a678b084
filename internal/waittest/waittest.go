// Package waittest waits in tests for what other goroutines and processes do.
package waittest

import (
	"testing"
	"time"
)

// Until returns once something holds. It fails the test after a minute, which is far
// beyond what anything takes on a busy machine.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute, not yet: %s", what)
		}
	}
}
