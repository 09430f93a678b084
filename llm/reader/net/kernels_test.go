package net

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// withEach calls f with each set of instructions that the processor has, plain Go first. It
// sets them for the whole package, so tests that call it do not run beside others.
func withEach(t *testing.T, f func(t *testing.T)) {
	best := instructions
	defer func() { instructions = best }()
	for i, name := range []string{"plain Go", "AVX2", "AVX-512 VNNI"} {
		t.Run(name, func(t *testing.T) {
			if instructions = instructionSet(i); instructions > best {
				t.Skip("the processor lacks these instructions")
			}
			f(t)
		})
	}
}

// TestKernelsEqual runs each kernel on numbers of odd sizes: the results of all sets of
// instructions are those of plain Go to the last bit.
func TestKernelsEqual(t *testing.T) {
	var want [][]float32
	withEach(t, func(t *testing.T) {
		got := kernelResults()
		if want == nil {
			want = got
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("result %d of %d is not that of plain Go: %v, want %v", i, len(want), got[i], want[i])
			}
		}
	})
}

// kernelResults are the results of the kernels for the same random numbers each time.
func kernelResults() (all [][]float32) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int, size float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * size)
		}
		return x
	}
	s := new(scratch)
	for _, in := range []int{1, 3, 8, 9, 31, 33, 100} {
		for _, out := range []int{1, 16, 17, 50} {
			for _, rows := range []int{1, 3, 4, 5, 12, 14, 29} {
				x, weight := matrix{random(rows*in, 1), rows, in}, random(in*out, 1)
				to := matrix{random(rows*out, 1), rows, out}
				(&linear{packed(in, out, weight), random(out, 1)}).add(to, x, s)
				all = append(all, to.data)
				to = matrix{random(rows*(out+2), 1), rows, out + 2}
				w := rowGroups(make([]float32, groupsSize(in, out)), matrix{weight, out, in}, 0, in)
				addProduct(to, 1, x, 0, &w)
				all = append(all, to.data)
			}
		}
		x := random(in, 5)
		exps, gelus, weights := slices.Clone(x), slices.Clone(x), slices.Clone(x)
		expAll(exps)
		geluAll(gelus)
		softmax(weights)
		normed := newMatrix(1, in)
		(&norm{random(in, 1), random(in, 1)}).apply(matrix{x, 1, in}, normed)
		all = append(all, exps, gelus, weights, normed.data, []float32{maxAbs(x), sum(x)})
	}
	// The largest sums, and numbers outside of the limits of exp.
	const in = 4096
	ones := slices.Repeat([]float32{-3}, in*group)
	to := newMatrix(tileRows, group)
	(&linear{packed(in, group, ones), make([]float32, group)}).add(to, matrix{ones[:in*tileRows], tileRows, in}, s)
	far := []float32{-1e30, -1000, -88, -87, 0, 88, 89, 1e30, 1e-40, -1e-40, 12, -12, 0.5, -0.5, 3, -3}
	exps, gelus := slices.Clone(far), slices.Clone(far)
	expAll(exps)
	geluAll(gelus)
	return append(all, to.data, exps, gelus)
}

// TestSumsOfSigns computes sums of the largest magnitude of either sign: none is out of the
// range of int32.
func TestSumsOfSigns(t *testing.T) {
	withEach(t, func(t *testing.T) {
		const in = 1536
		for _, sign := range []float32{1, -1} {
			weight := slices.Repeat([]float32{1}, in)
			x := matrix{slices.Repeat([]float32{sign}, in), 1, in}
			to := newMatrix(1, 1)
			(&linear{packed(in, 1, weight), []float32{0}}).add(to, x, new(scratch))
			if math.Abs(float64(to.data[0]-sign*in)) > 1e-2 {
				t.Errorf("the sum is %v, want %v", to.data[0], sign*in)
			}
		}
	})
}

// TestNetworkEqual reads a question with each set of instructions: numbers and queries are
// the same to the last bit.
func TestNetworkEqual(t *testing.T) {
	n := builtIn(t)
	in, cat := ask(benchQuestion)
	var memory []float32
	var candidates []Candidate
	withEach(t, func(t *testing.T) {
		e := n.Encode(in)
		found := n.Decode(e, cat)
		if memory == nil {
			memory, candidates = e.memory.data, found
		}
		if !slices.Equal(e.memory.data, memory) || !reflect.DeepEqual(found, candidates) {
			t.Error("another result than that of plain Go")
		}
	})
}
