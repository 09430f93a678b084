//go:build race

package sqlcheck

// nameStep has each position take one hostile name in six, and the next position others: the
// race detector makes each take seven times as long, and the check has no goroutines.
func nameStep() int { return 6 }
