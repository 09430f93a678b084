// Package fulltest says how often tests repeat what they repeat with other input: kills,
// streams, changed files, names, questions; and whether those run that take long.
package fulltest

import (
	"os"
	"testing"
)

// Full says whether everything is asked for: PARLEY_TEST=full, as .ci/run has it.
func Full() bool { return os.Getenv("PARLEY_TEST") == "full" }

// Count is the usual number, or the full one.
func Count(usual, full int) int {
	if Full() {
		return full
	}
	return usual
}

// Only skips a test that is part of the full run alone.
func Only(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("it runs with PARLEY_TEST=full, as in .ci/run ordinary")
	}
}
