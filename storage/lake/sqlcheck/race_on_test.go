//go:build race

package sqlcheck

// nameStep has each position take one hostile name in five: the race detector makes each take
// seven times as long, and the check has no goroutines.
const nameStep = 5
