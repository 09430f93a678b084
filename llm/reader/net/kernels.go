package net

import "math"

// The functions below are the inner loops of the network. Where the processor has the
// instructions, the functions whose names begin with vector do the first numbers, as many as they
// return; plain Go does the rest. All give the same result to the last bit: sums of
// integers are exact, and those of float32 have the same order in both, with a rounding
// after each operation. The conversions to float32 of what is one already are for
// processors where Go would fuse multiplication and addition otherwise.

// instructionSet is what a processor has for vectors.
type instructionSet int

const (
	plainGo instructionSet = iota
	avx2
	vnni // AVX-512 VNNI, and AVX2
)

var instructions = supported()

// A tile is the product of some rows with a group of outputs, of which the sums fit in
// registers. The kernels are written for these numbers.
const (
	tileRows = 4
	group    = 16
	// inputStep is what the number of quantized inputs is a multiple of.
	inputStep = 4
)

type (
	// integerSums are those of up to 12 rows.
	integerSums [12 * group]int32
	floatSums   [tileRows * group]float32
)

// sumIntegers multiplies rows of in quantized inputs with the weights of a group, and
// returns the number of rows it took. There must be at least tileRows.
func sumIntegers(sums *integerSums, x []int16, in int, w []int8) (rows int) {
	if rows := vectorSums(sums, x, in, w); rows > 0 {
		return rows
	}
	// An int64 holds the inputs of two rows, the second one times 1<<32: one multiplication
	// does both.
	const block = 64
	var ab, cd [block]int64
	var totals [2 * group]int64
	for from := 0; from < in; from += block {
		n := min(block, in-from)
		a, b, c, d := x[from:from+n], x[in+from:in+from+n], x[2*in+from:2*in+from+n], x[3*in+from:3*in+from+n]
		for k := range a {
			ab[k], cd[k] = int64(a[k])+int64(b[k])<<32, int64(c[k])+int64(d[k])<<32
		}
		for o := range group {
			var p, q int64
			for k, at := uint(0), from*group+2*o; k < uint(n); k, at = k+2, at+2*group {
				v := int64(w[at])
				p += ab[k%block] * v
				q += cd[k%block] * v
				v = int64(w[at+1])
				p += ab[(k+1)%block] * v
				q += cd[(k+1)%block] * v
			}
			totals[o] += p
			totals[group+o] += q
		}
	}
	for i, both := range totals {
		first := int32(both)
		at := i/group*2*group + i%group
		sums[at], sums[at+group] = first, int32((both-int64(first))>>32)
	}
	return tileRows
}

// addOutputs adds the bias and the outputs of sums, as many as the bias has, to rows of a
// matrix from a column on. units are the quantization steps of the rows.
func addOutputs(to matrix, column int, bias, scales []float32, sums *integerSums, units []float32) {
	if vectorOutputs(to, column, bias, scales, sums, units) {
		return
	}
	for i := range to.rows {
		row := to.row(i)[column:]
		for o, b := range bias {
			row[o] = row[o] + b + float32(float32(sums[i*group+o])*float32(scales[o]*units[i]))
		}
	}
}

// sumFloats multiplies tileRows rows, which are stride apart, with a group.
func sumFloats(sums *floatSums, x []float32, stride int, w []float32) {
	if vectorProduct(sums, x, stride, w) {
		return
	}
	for i := range tileRows {
		row := x[i*stride:][:len(w)/group]
		for o := 0; o < group; o += 4 {
			var a, b, c, d float32
			for k, v := range row {
				w := (*[4]float32)(w[k*group+o:])
				a += float32(v * w[0])
				b += float32(v * w[1])
				c += float32(v * w[2])
				d += float32(v * w[3])
			}
			*(*[4]float32)(sums[i*group+o:]) = [4]float32{a, b, c, d}
		}
	}
}

// maxAbs returns the largest absolute value. Absolute values of finite floats are ordered
// as their bits.
func maxAbs(x []float32) float32 {
	var lanes [8]float32
	n := vectorMaxAbs(x, &lanes)
	most := uint32(0)
	for _, part := range [][]float32{lanes[:], x[n:]} {
		for _, v := range part {
			most = max(most, math.Float32bits(v)&^(1<<31))
		}
	}
	return math.Float32frombits(most)
}

// quantize rounds numbers to integers of at most limit, which is at most the largest
// int16, and returns the quantization step.
func quantize(to []int16, x []float32, limit float32) (unit float32) {
	const (
		minMagnitude = 1e-30   // counts as zero
		round        = 3 << 22 // added and taken away, it makes the digits after the point go away
	)
	most := maxAbs(x)
	if most < minMagnitude {
		clear(to)
		return 0
	}
	by := limit / most
	for k := vectorQuantize(to, x, by); k < len(x); k++ {
		to[k] = int16(float32(x[k]*by) + round - round)
	}
	return most / limit
}

// exp is the exponential function with a relative error below 1e-5. It is two to the
// power of a whole number and of a fraction between -1/2 and 1/2, by a polynomial.
func exp(x float32) float32 {
	const round = 3 << 22 // makes the digits after the point go away
	t := float32(min(max(x, -87), 88) * math.Log2E)
	whole := t + round
	f := t - (whole - round)
	p := 0.009618129 + float32(f*0.0013333558)
	p = 0.05550411 + float32(f*p)
	p = 0.24022651 + float32(f*p)
	p = 0.6931472 + float32(f*p)
	p = 1 + float32(f*p)
	return math.Float32frombits(math.Float32bits(p) + (math.Float32bits(whole)-math.Float32bits(round))<<23)
}

// expAll replaces numbers by their exponentials.
func expAll(x []float32) {
	for i := vectorExp(x); i < len(x); i++ {
		x[i] = exp(x[i])
	}
}

// geluAll replaces numbers by their GELU, by its tanh approximation.
func geluAll(x []float32) {
	const c = 2 * 0.7978845608028654
	for i := vectorGELU(x); i < len(x); i++ {
		v := x[i]
		cube := float32(float32(float32(0.044715*v)*v) * v)
		x[i] = v / (1 + exp(float32(-c*(v+cube))))
	}
}

// sum adds numbers up in eight sums, number i to sum i%8, and then these.
func sum(x []float32) float32 {
	var lanes [8]float32
	for i := vectorSum(x, &lanes); i < len(x); i++ {
		lanes[i%8] += x[i]
	}
	return addLanes(&lanes)
}

// sumSquares adds up the squares of differences to the mean, as sum does.
func sumSquares(x []float32, mean float32) float32 {
	var lanes [8]float32
	for i := vectorSquares(x, mean, &lanes); i < len(x); i++ {
		lanes[i%8] += float32((x[i] - mean) * (x[i] - mean))
	}
	return addLanes(&lanes)
}

func addLanes(l *[8]float32) float32 {
	return ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
}

// normalize sets to the numbers of x minus the mean, by scale and weight, plus bias.
func normalize(to, x, weight, bias []float32, mean, scale float32) {
	for k := vectorNormalize(to, x, weight, bias, mean, scale); k < len(x); k++ {
		to[k] = float32(float32((x[k]-mean)*scale)*weight[k]) + bias[k]
	}
}
