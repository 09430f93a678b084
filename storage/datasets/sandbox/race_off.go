//go:build !race

package sandbox

// RaceEnabled says that this build has the race detector.
const RaceEnabled = false
