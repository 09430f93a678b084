//go:build race

package e2etest

// RaceDetector says that the tests, and the program in them, are many times slower.
const RaceDetector = true

// raced are the tests that run with the race detector by default: those with the most
// concurrency. All of them would take a quarter of an hour.
const raced = "^Test(Crash|GoldenStreams|OnePathForQuestions|Isolation|DataOnEveryHome|KilledInTheMiddle|" +
	"Serve|ServeDrains|ModelsEndToEnd|Spans|Feedback|GoClient|BackupWhileServing|Retention|BucketAway|SmallCache|PageAsks)$"
