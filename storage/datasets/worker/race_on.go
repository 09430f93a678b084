//go:build race

package worker

const RaceEnabled = true
