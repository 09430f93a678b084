// Package waittest waits in tests for what other goroutines and processes do.
package waittest

import (
	"testing"
	"time"
)

// Limit is how long a test waits for what must happen. It is far beyond what anything
// takes, with the race detector and on a busy machine too.
const Limit = 6 * time.Minute

// Until returns once something holds. It fails the test after Limit.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v, not yet: %s", Limit, what)
		}
	}
}
