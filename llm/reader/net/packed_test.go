package net

import (
	"math"
	"math/rand/v2"
	"testing"
)

// packed quantizes weights.
func packed(in, out int, weight []float32) packedMatrix {
	m := newPackedMatrix(in, out)
	for o := range out {
		row := make([]int16, in)
		scale := quantize(row, weight[o*in:(o+1)*in], maxWeight)
		m.set(o, row, scale)
	}
	return m
}

// TestPackedMatrix compares products with those of float64, for odd sizes, and for numbers
// whose sums are the largest.
func TestPackedMatrix(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for name, number := range map[string]func() float32{
		"random":  func() float32 { return float32(rng.NormFloat64()) },
		"largest": func() float32 { return 3 },
		"signs":   func() float32 { return float32(rng.IntN(2)*2 - 1) },
		"nothing": func() float32 { return 0 },
		"tiny":    func() float32 { return 1e-40 },
	} {
		for _, size := range [][3]int{{1, 1, 1}, {2, 8, 8}, {5, 101, 83}, {3, 768, 20}, {25, 4096, 17}} {
			rows, in, out := size[0], size[1], size[2]
			weight, bias := make([]float32, in*out), make([]float32, out)
			x, to := newMatrix(rows, in), newMatrix(rows, out)
			for _, part := range [][]float32{weight, bias, x.data} {
				for i := range part {
					part[i] = number()
				}
			}
			l := linear{packed(in, out, weight), bias}
			l.add(to, x, getScratch())
			for i := range rows {
				for o := range out {
					want, size := float64(bias[o]), 0.0
					for k := range in {
						product := float64(x.row(i)[k]) * float64(weight[o*in+k])
						want += product
						size += product * product
					}
					if diff := math.Abs(float64(to.row(i)[o]) - want); diff > 0.04*math.Sqrt(size)+1e-5 || math.IsNaN(diff) {
						t.Errorf("%s %v: output %d of row %d is %v, not %v", name, size, o, i, to.row(i)[o], want)
					}
				}
			}
		}
	}
}
