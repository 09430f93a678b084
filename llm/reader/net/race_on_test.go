//go:build race

package net

// goldenEvery says which examples are compared: the race detector makes each take twenty
// times as long.
const goldenEvery = 20
