package net

import "math"

// packedMatrix is a matrix of quantized weights. A float64 holds the integer weights of two
// outputs, the second one times packFactor: one multiplication computes both, which makes
// plain Go nearly twice as fast. Sums stay below half of packFactor, so they are exact and
// equal on every processor.
//
// A weight is rounded to one of 511 values per output, an input to one of a few thousand
// per row. That is about as precise as bfloat16 in training.
type packedMatrix struct {
	// data has, for each group of float64 and each input, the numbers of the group.
	data []float64
	// scales has the quantization step of each output.
	scales []float32
	// limit is the largest quantized input.
	limit float32
	in    int
	out   int
}

const (
	packFactor       = 1 << 27
	maxWeight        = 255
	maxSum           = packFactor/2 - packFactor/64
	maxInput         = 1 << 14
	packedGroup      = 2 * group
	minMagnitude     = 1e-30   // counts as zero
	roundingConstant = 3 << 51 // added and taken away, it makes the digits after the point go away
)

// newPackedMatrix quantizes a matrix with a row for each output. row may give the same
// slice each time.
func newPackedMatrix(in, out int, row func(output int) []float32) packedMatrix {
	l := packedMatrix{scales: make([]float32, out), in: roundUp(in, 2), out: out}
	l.data = make([]float64, roundUp(out, packedGroup)/2*l.in)
	most := float32(1)
	for o := range out {
		numbers := row(o)
		high := maxAbs(numbers)
		if high < minMagnitude {
			continue
		}
		l.scales[o] = high / maxWeight
		at := l.data[o/packedGroup*group*l.in+o%packedGroup/2:]
		scale, by, sum := maxWeight/high, 1.0, float32(0)
		if o%2 == 1 {
			by = packFactor
		}
		for k, v := range numbers {
			q := roundToInt(float64(v * scale))
			at[group*k] += by * q
			sum += float32(math.Abs(q))
		}
		most = max(most, sum)
	}
	l.limit = min(maxInput, float32(int(maxSum/most)))
	return l
}

// roundToInt rounds to an integer.
func roundToInt(x float64) float64 { return x + roundingConstant - roundingConstant }

// maxAbs returns the largest absolute value. Absolute values of finite floats are ordered
// as their bits.
func maxAbs(x []float32) float32 {
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// round quantizes a row of inputs into every second number, and returns the quantization
// step.
func (l *packedMatrix) round(to []float64, row []float32) (unit float32) {
	most := maxAbs(row)
	if most < minMagnitude {
		return 0
	}
	by := l.limit / most
	for k, v := range row {
		to[pair*k] = roundToInt(float64(float32(v * by)))
	}
	return most / l.limit
}

func (l *packedMatrix) groups() int { return (l.out + packedGroup - 1) / packedGroup }

// addTo adds products to a matrix, for the groups of outputs in a range.
func (l *packedMatrix) addTo(to matrix, x []float64, units []float32, from, end int) {
	for g := from; g < end; g++ {
		weights := l.data[g*group*l.in : (g+1)*group*l.in]
		first, last := g*packedGroup, min((g+1)*packedGroup, l.out)
		scales := l.scales[first:last]
		for i := 0; i < to.rows; i += pair {
			p, q := tileIntegers(x[i*l.in:(i+pair)*l.in], weights)
			addOutputs(to.row(i)[first:last], p, scales, units[i])
			if i+1 < to.rows {
				addOutputs(to.row(i + 1)[first:last], q, scales, units[i+1])
			}
		}
	}
}

// addOutputs unpacks the outputs of sums and adds them.
func addOutputs(to []float32, sums [group]float64, scales []float32, unit float32) {
	for i := range to {
		sum := sums[i/2]
		second := roundToInt(sum / packFactor)
		if i%2 == 0 {
			to[i] += float32(sum-second*packFactor) * (scales[i] * unit)
		} else {
			to[i] += float32(second) * (scales[i] * unit)
		}
	}
}
