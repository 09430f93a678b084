package net

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// The order of sums does not depend on the number of goroutines: the same input gives the
// same output.

// matrix is a matrix in row-major order.
type matrix struct {
	data []float32
	rows int
	cols int
}

func newMatrix(rows, cols int) matrix { return matrix{make([]float32, rows*cols), rows, cols} }

func (m matrix) row(i int) []float32 { return m.data[i*m.cols : (i+1)*m.cols] }

// slice returns the rows of a range.
func (m matrix) slice(from, to int) matrix {
	return matrix{m.data[from*m.cols : to*m.cols], to - from, m.cols}
}

// scratch is an allocator for intermediate results.
type scratch struct {
	data []float32
	used int
	// integers are quantized numbers.
	integers []int16
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

// allocInt16 returns n numbers, valid until the next call.
func (s *scratch) allocInt16(n int) []int16 {
	if n > len(s.integers) {
		s.integers = make([]int16, 2*n)
	}
	return s.integers[:n]
}

func (s *scratch) matrix(rows, cols int) matrix { return matrix{s.alloc(rows * cols), rows, cols} }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// groups is a right factor of a product: for each group of outputs, their numbers interleaved.
type groups struct {
	data []float32
	in   int
	out  int
}

func groupsSize(in, out int) int { return in * roundUp(out, group) }

// rowGroups packs a factor whose outputs are the rows of a matrix, by some columns.
func rowGroups(data []float32, x matrix, from, in int) groups {
	g := groups{data, in, x.rows}
	for o := range x.rows {
		to := g.data[o/group*group*in+o%group:]
		for k, v := range x.row(o)[from : from+in] {
			to[k*group] = v
		}
	}
	return g
}

// columnGroups packs a factor whose outputs are some columns of a matrix.
func columnGroups(data []float32, x matrix, from, out int) groups {
	g := groups{data, x.rows, out}
	for k := range x.rows {
		row := x.row(k)[from : from+out]
		for o := 0; o < out; o += group {
			copy(g.data[(o/group*g.in+k)*group:], row[o:min(o+group, out)])
		}
	}
	return g
}

// addProduct adds the product of some columns of x, from one on, with w to columns of a
// matrix.
func addProduct(to matrix, column int, x matrix, from int, w *groups) {
	var sums floatSums
	for o := 0; o < w.out; o += group {
		weights := w.data[o*w.in : (o+group)*w.in]
		n := min(group, w.out-o)
		for i := 0; i < x.rows; {
			first, stride, count := min(i, x.rows-tileRows), x.cols, tileRows
			if first < 0 { // fewer rows than a tile: one by one, in all rows of it
				first, stride, count = i, 0, 1
			}
			sumFloats(&sums, x.data[first*x.cols+from:], stride, weights)
			for ; i < first+count; i++ {
				addTo(to.row(i)[column+o:column+o+n], sums[(i-first)*group:][:n])
			}
		}
	}
}

// minParallelWork is the minimum number of multiplications for several goroutines.
const minParallelWork = 1 << 20

// add adds the output of the layer for x to a matrix.
func (l *linear) add(to, x matrix, s *scratch) {
	w := &l.weight
	before := s.used
	units := s.alloc(x.rows)
	// Numbers that are not set are in rows without output, or are multiplied by 0.
	packed := s.allocInt16(roundUp(x.rows, tileRows) * w.in)
	for i := range x.rows {
		units[i] = quantize(packed[i*w.in:(i+1)*w.in], x.row(i), w.limit)
	}
	if x.rows*w.in*w.out < minParallelWork {
		w.addTo(to, l.bias, packed, units, 0, w.groups())
	} else {
		parallel(w.groups(), func(from, end int) { w.addTo(to, l.bias, packed, units, from, end) })
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
		mean := sum(row) / float32(len(row))
		variance := sumSquares(row, mean) / float32(len(row))
		scale := 1 / float32(math.Sqrt(float64(variance)+1e-5))
		normalize(to, row, m.weight, m.bias, mean, scale)
	}
	return to
}

// gelu is the GELU activation.
func gelu(x matrix) {
	parallelFrom(len(x.data), 1<<16, func(from, to int) { geluAll(x.data[from:to]) })
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
		x[i] += float32(y[i] * by)
	}
}

// dot is the product of two vectors of the same length.
func dot(a, b []float32) (sum float32) {
	b = b[:len(a)]
	for i, v := range a {
		sum += float32(v * b[i])
	}
	return sum
}

// softmax replaces numbers by their softmax.
func softmax(x []float32) {
	highest := x[0]
	for _, v := range x {
		if v > highest {
			highest = v
		}
	}
	for i := range x {
		x[i] -= highest
	}
	expAll(x)
	share := 1 / sum(x)
	for i := range x {
		x[i] *= share
	}
}
