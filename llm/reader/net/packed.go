package net

import "math"

// packedMatrix is a matrix of quantized weights. Inputs are quantized too, so that sums of
// products are exact in int32, and equal on every processor.
//
// A weight is one of 255 values per output: memory is slower than the processor, so weights
// are smaller than inputs, of which each row has up to 32,767 values.
type packedMatrix struct {
	// data has, for each group of outputs and each pair of inputs, the two weights of each
	// output.
	data []int8
	// scales has the quantization step of each output.
	scales []float32
	// limit is the largest quantized input.
	limit float32
	in    int
	out   int
}

const (
	maxWeight = 127
	maxInput  = 1<<14 - 1
)

func newPackedMatrix(in, out int) packedMatrix {
	in = roundUp(in, inputStep)
	return packedMatrix{data: make([]int8, roundUp(out, group)*in), scales: make([]float32, out), limit: maxInput, in: in, out: out}
}

// set sets the weights of an output, which are integers of int8.
func (m *packedMatrix) set(output int, weights []int16, scale float32) {
	m.scales[output] = scale
	at := m.data[output/group*group*m.in+output%group*2:]
	most := 0
	for k, w := range weights {
		at[k/2*2*group+k%2] = int8(w)
		most += max(int(w), -int(w))
	}
	m.limit = min(m.limit, float32(math.MaxInt32/max(most, 1)))
}

func (m *packedMatrix) groups() int { return (m.out + group - 1) / group }

// addTo adds bias and products to a matrix, for the groups of outputs in a range. x has
// rows of quantized inputs, a multiple of tileRows, and units their quantization steps.
func (m *packedMatrix) addTo(to matrix, bias []float32, x []int16, units []float32, from, end int) {
	var sums integerSums
	for g := from; g < end; g++ {
		weights := m.data[g*group*m.in : (g+1)*group*m.in]
		first, last := g*group, min((g+1)*group, m.out)
		for i := 0; i < to.rows; {
			rows := sumIntegers(&sums, x[i*m.in:], m.in, weights)
			end := min(i+rows, to.rows)
			addOutputs(to.slice(i, end), first, bias[first:last], m.scales[first:last], &sums, units[i:end])
			i = end
		}
	}
}
