// Package waittest waits in tests for what other goroutines and processes do.
package waittest

import (
	"testing"
	"time"
)

// Limit is how long a test waits for what must happen. It is far beyond what anything
// takes, with the race detector and on a busy machine too.
const Limit = 6 * time.Minute

// Until returns once something holds. It fails the test after Limit. It looks every 5 ms
// to begin with, and less often the longer it has waited: to look takes processor time too.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); {
		waited := time.Since(start)
		if waited > Limit {
			t.Fatalf("after %v, not yet: %s", Limit, what)
		}
		time.Sleep(min(max(5*time.Millisecond, waited/20), 100*time.Millisecond))
	}
}
