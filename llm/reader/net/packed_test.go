package net

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPackedMatrix compares products with those of float64, for odd sizes, and for numbers that
// fill the packed numbers.
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
		for _, size := range [][3]int{{1, 1, 1}, {2, 8, 8}, {5, 101, 83}, {3, 768, 20}} {
			rows, in, out := size[0], size[1], size[2]
			weight, bias := make([]float32, in*out), make([]float32, out)
			x, to := newMatrix(rows, in), newMatrix(rows, out)
			for _, part := range [][]float32{weight, bias, x.data} {
				for i := range part {
					part[i] = number()
				}
			}
			l := linear{newPackedMatrix(in, out, func(o int) []float32 { return weight[o*in : (o+1)*in] }), bias}
			l.add(to, x, getScratch())
			for i := range rows {
				for o := range out {
					want, size := float64(bias[o]), 0.0
					for k := range in {
						product := float64(x.row(i)[k]) * float64(weight[o*in+k])
						want += product
						size += product * product
					}
					if diff := math.Abs(float64(to.row(i)[o]) - want); diff > 0.02*math.Sqrt(size)+1e-5 || math.IsNaN(diff) {
						t.Errorf("%s %v: output %d of row %d is %v, not %v", name, size, o, i, to.row(i)[o], want)
					}
				}
			}
		}
	}
}

// TestTileIntegers compares sums with those of tile to the last bit: of random numbers, and
// the largest and smallest. An odd last input is left out.
func TestTileIntegers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() float64 { return 2*rng.Float64() - 1 }
	always := func(v float64) func() float64 { return func() float64 { return v } }
	for _, in := range []int{0, 1, 2, 3, 4, 6, 100, 768} {
		limit := float64(int(maxSum) / maxWeight / max(in, 1))
		for name, part := range map[string][2]func() float64{
			"random": {random, random}, "largest": {always(1), always(1)}, "smallest": {always(1), always(-1)},
		} {
			x, w := make([]float64, pair*in), make([]float64, group*in)
			for i := range x {
				x[i] = roundToInt(limit * part[0]())
			}
			for i := range w {
				w[i] = roundToInt(maxWeight*part[1]()) + packFactor*roundToInt(maxWeight*part[1]())
			}
			p, q := tileIntegers(x, w)
			if wantP, wantQ := tile(x, w); p != wantP || q != wantQ {
				t.Errorf("%s, %d inputs: %v and %v, not %v and %v", name, in, p, q, wantP, wantQ)
			}
		}
	}
}
