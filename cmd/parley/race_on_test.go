//go:build race

package main

import "testing"

// raceDetector says that the tests, and the program in them, are many times slower.
const raceDetector = true

// notRaced skips a test that takes too long with the race detector. Without it,
// it is run.
func notRaced(t testing.TB) {
	t.Helper()
	t.Skip("it takes too long with the race detector")
}
