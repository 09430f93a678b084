//go:build !race

package lake

// raceEnabled says that this build has the race detector.
const raceEnabled = false
