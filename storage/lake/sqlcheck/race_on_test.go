//go:build race

package sqlcheck

// nameStep has one hostile name in five placed: the race detector makes each take seven times as
// long, and the check has no goroutines.
const nameStep = 5
