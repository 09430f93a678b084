//go:build race

package e2etest

// RaceDetector says that the tests, and the program in them, are many times slower.
const RaceDetector = true

// raced are the tests that are run with the race detector when none are named:
// those in which most goes on at once. All of them would take a quarter of an
// hour. Without the detector all are run.
const raced = "^Test(Crash|GoldenStreams|OnePathForQuestions|Isolation|StalledReaders|DataOnEveryHome|KilledInTheMiddle|" +
	"Serve|ServeDrains|ModelsEndToEnd|Spans|Feedback|GoClient|BackupWhileServing|Retention|BucketAway|SmallCache|PageAsks)$"
