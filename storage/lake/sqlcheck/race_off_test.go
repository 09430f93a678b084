//go:build !race

package sqlcheck

// nameStep has each position take every hostile name.
const nameStep = 1
