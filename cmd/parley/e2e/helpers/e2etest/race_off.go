//go:build !race

package e2etest

// RaceDetector says that the tests, and the program in them, are many times slower.
const RaceDetector = false

const raced = ""
