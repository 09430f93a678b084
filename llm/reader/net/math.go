package net

import (
	"math"
	"runtime"
	"sync"
)

// matrix is rows of the same length, one after the other.
type matrix struct {
	data []float32
	rows int
	cols int
}

func newMatrix(rows, cols int) matrix { return matrix{make([]float32, rows*cols), rows, cols} }

func (m matrix) row(i int) []float32 { return m.data[i*m.cols : (i+1)*m.cols] }

// dot is the product of two vectors of the same length.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	n := len(a) &^ 3
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for i := n; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// dot4x2 multiplies four vectors with two: eight sums that do not wait for each other.
func dot4x2(a0, a1, a2, a3, b, c []float32) (s [8]float32) {
	n := len(b)
	a0, a1, a2, a3, c = a0[:n], a1[:n], a2[:n], a3[:n], c[:n]
	var p0, p1, p2, p3, q0, q1, q2, q3 float32
	for i, y := range b {
		z := c[i]
		x0, x1, x2, x3 := a0[i], a1[i], a2[i], a3[i]
		p0 += x0 * y
		q0 += x0 * z
		p1 += x1 * y
		q1 += x1 * z
		p2 += x2 * y
		q2 += x2 * z
		p3 += x3 * y
		q3 += x3 * z
	}
	return [8]float32{p0, p1, p2, p3, q0, q1, q2, q3}
}

// apply multiplies each row of x with a matrix, on several processors where that is
// worth it.
func (l *linear) apply(x matrix) matrix {
	out := newMatrix(x.rows, l.out)
	const worthIt = 1 << 18
	if x.rows*l.in*l.out < worthIt {
		l.rows(x, out, 0, l.out)
		return out
	}
	parallel(l.out, func(from, to int) { l.rows(x, out, from, to) })
	return out
}

// rows computes some columns of the product, an even number of them where there are
// as many.
func (l *linear) rows(x, out matrix, from, to int) {
	o := from
	for ; o+2 <= to; o += 2 {
		w, v := l.weight[o*l.in:(o+1)*l.in], l.weight[(o+1)*l.in:(o+2)*l.in]
		i := 0
		for ; i+4 <= x.rows; i += 4 {
			s := dot4x2(x.row(i), x.row(i+1), x.row(i+2), x.row(i+3), w, v)
			for k := range 4 {
				out.data[(i+k)*l.out+o], out.data[(i+k)*l.out+o+1] = s[k]+l.bias[o], s[4+k]+l.bias[o+1]
			}
		}
		for ; i < x.rows; i++ {
			out.data[i*l.out+o], out.data[i*l.out+o+1] = dot(x.row(i), w)+l.bias[o], dot(x.row(i), v)+l.bias[o+1]
		}
	}
	for ; o < to; o++ {
		w := l.weight[o*l.in : (o+1)*l.in]
		for i := range x.rows {
			out.data[i*l.out+o] = dot(x.row(i), w) + l.bias[o]
		}
	}
}

// helpers bounds how many goroutines work for all questions together.
var helpers = make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 0))

// parallel calls f with parts of the numbers below n: in this goroutine, and in as
// many more as are free.
func parallel(n int, f func(from, to int)) {
	workers := 1
	for workers < cap(helpers)+1 {
		select {
		case helpers <- struct{}{}:
			workers++
			continue
		default:
		}
		break
	}
	var wait sync.WaitGroup
	for w := 1; w < workers; w++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer func() { <-helpers }()
			f(n*w/workers, n*(w+1)/workers)
		}()
	}
	f(0, n/workers)
	wait.Wait()
}

// apply scales each row to mean zero and variance one, and then by weights.
func (m *norm) apply(x matrix) matrix {
	out := newMatrix(x.rows, x.cols)
	for i := range x.rows {
		row, to := x.row(i), out.row(i)
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
	return out
}

// gelu is the activation, by its usual approximation.
func gelu(x matrix) {
	const c = 2 * 0.7978845608028654
	for i, v := range x.data {
		f := float64(v)
		x.data[i] = float32(f / (1 + math.Exp(-c*(f+0.044715*f*f*f))))
	}
}

func addTo(x, y []float32) {
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

// softmax makes numbers shares of one.
func softmax(x []float32) {
	highest := x[0]
	for _, v := range x {
		highest = max(highest, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v - highest)))
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}
