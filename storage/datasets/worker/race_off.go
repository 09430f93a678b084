//go:build !race

package worker

// RaceEnabled says that this build has the race detector.
const RaceEnabled = false
