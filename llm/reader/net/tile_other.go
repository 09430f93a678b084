//go:build !amd64

package net

// tileIntegers is tile for integers whose sums are exact.
func tileIntegers(x, w []float64) (p, q [group]float64) { return tile(x, w) }
