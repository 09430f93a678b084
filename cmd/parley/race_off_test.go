//go:build !race

package main

import "testing"

const raceDetector = false

func notRaced(testing.TB) {}
