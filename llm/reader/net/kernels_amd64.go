package net

import "golang.org/x/sys/cpu"

func supported() instructionSet {
	switch {
	case cpu.X86.HasAVX2 && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI:
		return vnni
	case cpu.X86.HasAVX2:
		return avx2
	}
	return plainGo
}

// Sums of 4 and of 12 rows with the weights of a group. Rows of x are stride bytes apart,
// and a step is a pair of inputs; the number of steps is even.

//go:noescape
func sums4AVX2(x *int16, stride int, w *int8, steps int, sums *int32)

//go:noescape
func sums4VNNI(x *int16, stride int, w *int8, steps int, sums *int32)

//go:noescape
func sums12VNNI(x *int16, stride int, w *int8, steps int, sums *int32)

// product4AVX2 has the sums of 4 rows with a group of float32.
//
//go:noescape
func product4AVX2(x *float32, stride int, w *float32, in int, sums *float32)

// outputsAVX2 adds the outputs of a group to rows.
//
//go:noescape
func outputsAVX2(to *float32, stride int, bias, scales *float32, sums *int32, units *float32, rows int)

// The other functions take a number of float32 which is a multiple of 16 for quantizeAVX2
// and of 8 for the others.

//go:noescape
func maxAbsAVX2(x *float32, n int, lanes *[8]float32)

//go:noescape
func quantizeAVX2(to *int16, x *float32, n int, by float32)

//go:noescape
func expAVX2(x *float32, n int)

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func sumAVX2(x *float32, n int, lanes *[8]float32)

//go:noescape
func squaresAVX2(x *float32, n int, mean float32, lanes *[8]float32)

//go:noescape
func normalizeAVX2(to, x, weight, bias *float32, n int, mean, scale float32)

func vectorSums(sums *integerSums, x []int16, in int, w []int8) (rows int) {
	const tall = len(sums) / group
	steps := len(w) / (2 * group)
	switch {
	case instructions == plainGo:
		return 0
	case instructions == avx2:
		sums4AVX2(&x[0], 2*in, &w[0], steps, &sums[0])
	case len(x) >= tall*in:
		sums12VNNI(&x[0], 2*in, &w[0], steps, &sums[0])
		return tall
	default:
		sums4VNNI(&x[0], 2*in, &w[0], steps, &sums[0])
	}
	return tileRows
}

func vectorProduct(sums *floatSums, x []float32, stride int, w []float32) bool {
	if instructions == plainGo {
		return false
	}
	product4AVX2(&x[0], 4*stride, &w[0], len(w)/group, &sums[0])
	return true
}

func vectorOutputs(to matrix, column int, bias, scales []float32, sums *integerSums, units []float32) bool {
	if instructions == plainGo || len(bias) != group {
		return false
	}
	outputsAVX2(&to.data[column], 4*to.cols, &bias[0], &scales[0], &sums[0], &units[0], to.rows)
	return true
}

// whole returns how many of n numbers are whole blocks of a size, 0 without vector
// instructions.
func whole(n, block int) int {
	if instructions == plainGo {
		return 0
	}
	return n / block * block
}

func vectorMaxAbs(x []float32, lanes *[8]float32) int {
	n := whole(len(x), 8)
	if n > 0 {
		maxAbsAVX2(&x[0], n, lanes)
	}
	return n
}

func vectorQuantize(to []int16, x []float32, by float32) int {
	n := whole(len(x), 16)
	if n > 0 {
		quantizeAVX2(&to[0], &x[0], n, by)
	}
	return n
}

func vectorExp(x []float32) int {
	n := whole(len(x), 8)
	if n > 0 {
		expAVX2(&x[0], n)
	}
	return n
}

func vectorGELU(x []float32) int {
	n := whole(len(x), 8)
	if n > 0 {
		geluAVX2(&x[0], n)
	}
	return n
}

func vectorSum(x []float32, lanes *[8]float32) int {
	n := whole(len(x), 8)
	if n > 0 {
		sumAVX2(&x[0], n, lanes)
	}
	return n
}

func vectorSquares(x []float32, mean float32, lanes *[8]float32) int {
	n := whole(len(x), 8)
	if n > 0 {
		squaresAVX2(&x[0], n, mean, lanes)
	}
	return n
}

func vectorNormalize(to, x, weight, bias []float32, mean, scale float32) int {
	n := whole(len(x), 8)
	if n > 0 {
		normalizeAVX2(&to[0], &x[0], &weight[0], &bias[0], n, mean, scale)
	}
	return n
}
