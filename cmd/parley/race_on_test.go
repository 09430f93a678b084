//go:build race

package main

// raceDetector says that the tests, and the program in them, are many times slower.
const raceDetector = true

// raced are the tests that are run with the race detector when none are named:
// those in which most goes on at once. All of them would take a quarter of an
// hour. Without the detector all are run.
const raced = "^Test(Crash|GoldenStreams|OnePathForQuestions|Isolation|StalledReaders|DataOnEveryHome|KilledInTheMiddle|" +
	"Serve|ServeDrains|ModelsEndToEnd|Spans|Feedback|GoClient|BackupWhileServing|Retention|BucketAway|SmallCache|PageAsks)$"
