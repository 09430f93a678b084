//go:build !race

package sqlcheck

// nameStep has each position take one hostile name in three, and the next position others.
const nameStep = 3
