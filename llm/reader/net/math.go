package net

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Sums of products of float32 are computed in the order of their terms, independent of the
// number of goroutines: the same input gives the same output. Those of integers, in
// packedMatrix, are exact in any order. On processors where Go fuses multiplication and
// addition (arm64, not amd64), sums of float32 differ in their last bits, and sometimes a
// quantized input of packedMatrix by one step: queries keep their order unless their
// log-probabilities are within about 1e-3.

// matrix is a matrix in row-major order.
type matrix struct {
	data []float32
	rows int
	cols int
}

func newMatrix(rows, cols int) matrix { return matrix{make([]float32, rows*cols), rows, cols} }

func (m matrix) row(i int) []float32 { return m.data[i*m.cols : (i+1)*m.cols] }

// scratch is an allocator for intermediate results.
type scratch struct {
	data []float32
	used int
	wide []float64
}

var scratchPool = sync.Pool{New: func() any { return &scratch{data: make([]float32, 1<<16)} }}

// getScratch returns a scratch, to be put back into scratchPool.
func getScratch() *scratch {
	s := scratchPool.Get().(*scratch)
	s.used = 0
	return s
}

// alloc returns n zeros, valid until used is reset.
func (s *scratch) alloc(n int) []float32 {
	if s.used+n > len(s.data) {
		// Slices of the old memory stay valid.
		s.data = make([]float32, 2*len(s.data)+n)
	}
	part := s.data[s.used : s.used+n : s.used+n]
	s.used += n
	clear(part)
	return part
}

// allocFloat64 returns n zeros, valid until the next call.
func (s *scratch) allocFloat64(n int) []float64 {
	if n > len(s.wide) {
		s.wide = make([]float64, 2*n)
	}
	clear(s.wide[:n])
	return s.wide[:n]
}

func (s *scratch) matrix(rows, cols int) matrix { return matrix{s.alloc(rows * cols), rows, cols} }

// The factors of a product are packed for tile: the left one in pairs of rows, the
// right one in groups of outputs. The inner dimension is filled up to an even number.
// tileAVX2 is written for these numbers.
const (
	pair  = 2
	group = 4
)

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// pairs is a left factor: for each pair of rows, their numbers interleaved.
type pairs struct {
	data []float32
	rows int
	in   int
}

// pairs packs some columns of a matrix.
func (s *scratch) pairs(x matrix, from, in int) pairs {
	even := roundUp(in, 2)
	p := pairs{s.alloc(roundUp(x.rows, pair) * even), x.rows, even}
	for i := range x.rows {
		to := p.data[i/pair*pair*even+i%pair:]
		for k, v := range x.row(i)[from : from+in] {
			to[pair*k] = v
		}
	}
	return p
}

// groups is a right factor: for each group of outputs, their numbers interleaved.
type groups struct {
	data []float32
	in   int
	out  int
}

func newGroups(data []float32, in, out int) groups {
	return groups{data, roundUp(in, 2), out}
}

func groupsSize(in, out int) int { return roundUp(in, 2) * roundUp(out, group) }

// set sets the number of an output.
func (g *groups) set(k, out int, v float32) {
	g.data[(out/group*g.in+k)*group+out%group] = v
}

// rowGroups packs a factor whose outputs are the rows of a matrix, by some columns.
func rowGroups(data []float32, x matrix, from, in int) groups {
	g := newGroups(data, in, x.rows)
	for o := range x.rows {
		for k, v := range x.row(o)[from : from+in] {
			g.set(k, o, v)
		}
	}
	return g
}

// columnGroups packs a factor whose outputs are some columns of a matrix.
func columnGroups(data []float32, x matrix, from, out int) groups {
	g := newGroups(data, x.rows, out)
	for k := range x.rows {
		for o, v := range x.row(k)[from : from+out] {
			g.set(k, o, v)
		}
	}
	return g
}

// tile multiplies a pair of rows with a group of outputs: eight independent sums, as many
// as fit in registers.
func tile[T float32 | float64](x, w []T) (p, q [group]T) {
	var p0, p1, p2, p3, q0, q1, q2, q3 T
	for len(x) >= 2*pair && len(w) >= 2*group {
		a, b := (*[2 * pair]T)(x), (*[2 * group]T)(w)
		y, z := a[0], a[1]
		p0 += b[0] * y
		q0 += b[0] * z
		p1 += b[1] * y
		q1 += b[1] * z
		p2 += b[2] * y
		q2 += b[2] * z
		p3 += b[3] * y
		q3 += b[3] * z
		y, z = a[2], a[3]
		p0 += b[4] * y
		q0 += b[4] * z
		p1 += b[5] * y
		q1 += b[5] * z
		p2 += b[6] * y
		q2 += b[6] * z
		p3 += b[7] * y
		q3 += b[7] * z
		x, w = x[2*pair:], w[2*group:]
	}
	return [group]T{p0, p1, p2, p3}, [group]T{q0, q1, q2, q3}
}

// addProduct adds the product of two factors to columns of a matrix, for the groups of
// outputs in a range.
func addProduct(to matrix, column int, x pairs, w groups, from, end int) {
	for g := from; g < end; g++ {
		weights := w.data[g*group*w.in : (g+1)*group*w.in]
		o := g * group
		n := min(group, w.out-o)
		for i := 0; i < x.rows; i += pair {
			p, q := tile(x.data[i*x.in:(i+pair)*x.in], weights)
			addTo(to.row(i)[column+o:column+o+n], p[:n])
			if i+1 < x.rows {
				addTo(to.row(i + 1)[column+o:column+o+n], q[:n])
			}
		}
	}
}

func (g *groups) count() int { return (g.out + group - 1) / group }

// minParallelWork is the minimum number of multiplications for several goroutines.
const minParallelWork = 1 << 18

// add adds the output of the layer for x to a matrix.
func (l *linear) add(to, x matrix, s *scratch) {
	w := &l.weight
	before := s.used
	units := s.alloc(x.rows)
	packed := s.allocFloat64(roundUp(x.rows, pair) * w.in)
	for i := range x.rows {
		units[i] = w.round(packed[i/pair*pair*w.in+i%pair:], x.row(i))
		addTo(to.row(i), l.bias)
	}
	if x.rows*w.in*w.out < minParallelWork {
		w.addTo(to, packed, units, 0, w.groups())
	} else {
		parallel(w.groups(), func(from, end int) { w.addTo(to, packed, units, from, end) })
	}
	s.used = before
}

// apply returns the output of the layer for x.
func (l *linear) apply(x matrix, s *scratch) matrix {
	out := s.matrix(x.rows, l.weight.out)
	l.add(out, x, s)
	return out
}

// activeHelpers counts the helper goroutines of all questions.
var activeHelpers atomic.Int64

// parallel calls f with parts of the range from 0 to n: in this goroutine, and in one more
// for each processor that no other call uses. A panic of f ends in this goroutine, where
// callers can recover from it.
func parallel(n int, f func(from, to int)) {
	const partsEach = 4
	helpers := 0
	for limit := runtime.GOMAXPROCS(0) - 1; helpers < min(limit, n-1); helpers++ {
		if activeHelpers.Add(1) > int64(limit) {
			activeHelpers.Add(-1)
			break
		}
	}
	if helpers == 0 {
		f(0, n)
		return
	}
	parts := min(n, partsEach*(helpers+1))
	var next atomic.Int64
	var wait sync.WaitGroup
	var panicked atomic.Pointer[string]
	wait.Add(parts)
	call := func(part int) {
		defer wait.Done()
		defer func() {
			if cause := recover(); cause != nil {
				text := fmt.Sprintf("%v\n%s", cause, debug.Stack())
				panicked.CompareAndSwap(nil, &text)
			}
		}()
		f(n*part/parts, n*(part+1)/parts)
	}
	work := func() {
		for part := int(next.Add(1)) - 1; part < parts; part = int(next.Add(1)) - 1 {
			call(part)
		}
	}
	for range helpers {
		go func() {
			defer activeHelpers.Add(-1)
			work()
		}()
	}
	work()
	// A goroutine that starts late finds no part left; the caller does not wait for it.
	wait.Wait()
	if text := panicked.Load(); text != nil {
		panic(*text)
	}
}

// apply is layer normalization.
func (m *norm) apply(x, to matrix) matrix {
	for i := range x.rows {
		row, to := x.row(i), to.row(i)
		var mean, variance float32
		for _, v := range row {
			mean += v
		}
		mean /= float32(len(row))
		for _, v := range row {
			variance += (v - mean) * (v - mean)
		}
		scale := 1 / float32(math.Sqrt(float64(variance/float32(len(row)))+1e-5))
		for k, v := range row {
			to[k] = (v-mean)*scale*m.weight[k] + m.bias[k]
		}
	}
	return to
}

// exp is the exponential function with a relative error below 1e-5. It is two to the
// power of a whole number and of a fraction between -1/2 and 1/2, by a polynomial.
func exp(x float32) float32 {
	const round = 3 << 22 // makes the digits after the point go away
	t := min(max(x, -87), 88) * math.Log2E
	whole := t + round
	f := t - (whole - round)
	p := 1 + f*(0.6931472+f*(0.24022651+f*(0.05550411+f*(0.009618129+f*0.0013333558))))
	return math.Float32frombits(math.Float32bits(p) + (math.Float32bits(whole)-math.Float32bits(round))<<23)
}

// gelu is the GELU activation, by its tanh approximation.
func gelu(x matrix) {
	const c = 2 * 0.7978845608028654
	parallelFrom(len(x.data), 1<<14, func(from, to int) {
		part := x.data[from:to]
		for i, v := range part {
			part[i] = v / (1 + exp(-c*(v+0.044715*v*v*v)))
		}
	})
}

// parallelFrom is parallel, or one call for few numbers.
func parallelFrom(n, least int, f func(from, to int)) {
	if n < least {
		f(0, n)
		return
	}
	parallel(n, f)
}

func addTo(x, y []float32) {
	x = x[:len(y)]
	for i, v := range y {
		x[i] += v
	}
}

func addScaled(x, y []float32, by float32) {
	y = y[:len(x)]
	for i := range x {
		x[i] += y[i] * by
	}
}

// dot is the product of two vectors of the same length.
func dot(a, b []float32) (sum float32) {
	b = b[:len(a)]
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// softmax replaces numbers by their softmax.
func softmax(x []float32) {
	highest := x[0]
	for _, v := range x {
		highest = max(highest, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = exp(v - highest)
		sum += x[i]
	}
	share := 1 / sum
	for i := range x {
		x[i] *= share
	}
}
