//go:build !race

package sqlcheck

// nameStep has every hostile name placed.
const nameStep = 1
