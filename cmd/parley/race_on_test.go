//go:build race

package main

// raceDetector says that the tests, and the program in them, are many times slower.
const raceDetector = true
