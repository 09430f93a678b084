// Package fulltest says how often tests repeat what they repeat: kills, streams, changed
// files, questions.
package fulltest

import "os"

// Count is the usual number, or the full one with PARLEY_TEST=full, which .ci/run sets.
func Count(usual, full int) int {
	if os.Getenv("PARLEY_TEST") == "full" {
		return full
	}
	return usual
}
