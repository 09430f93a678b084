//go:build race

package reader_test

// questionStep has one question in twenty of a suite asked: the network is slow where races
// are looked for.
const questionStep = 20
