package net

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// tileAVX2 is tileIntegers for in inputs, which must be an even number. It adds up in
// another order than tile: the sums are the same as long as they are exact.
//
//go:noescape
func tileAVX2(x, w *float64, in int, sums *[pair * group]float64)

// tileIntegers is tile for integers whose sums are exact.
func tileIntegers(x, w []float64) (p, q [group]float64) {
	in := min(len(x)/pair, len(w)/group)
	if !hasAVX2 || in == 0 {
		return tile(x, w)
	}
	var sums [pair * group]float64
	tileAVX2(&x[0], &w[0], in, &sums)
	return [group]float64(sums[:group]), [group]float64(sums[group:])
}
