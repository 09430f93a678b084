//go:build !race

package reader_test

// questionStep is 1 to ask all questions of a suite.
const questionStep = 1
