package net

import (
	"math"
	"math/bits"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/vectors"
)

// How many places of words and steps of queries have weights; later ones count as the
// last.
const (
	places = 64
	steps  = 80
)

// Encoded is an input as the network understands it.
type Encoded struct {
	in     *link.Input
	memory matrix
	// items are what is pointed to, and keys what each decoder layer looks at.
	items matrix
	keys  []matrix
	// Answerable is how likely it is that the data holds what was asked for.
	Answerable float64
}

// Encode reads an input.
func (n *Net) Encode(in *link.Input) *Encoded {
	x := n.embed(in)
	for i := range n.encoderLayers {
		n.encoderLayers[i].apply(&x, in, n, i)
	}
	e := &Encoded{in: in, memory: n.norm.apply(x)}
	e.items = n.item.apply(e.memory)
	for i := range n.decoderLayers {
		e.keys = append(e.keys, n.decoderLayers[i].keys.apply(e.memory))
	}
	e.Answerable = n.answer(e.memory, in.Question)
	return e
}

// embed gives each item the sum of what its words, kind, contents and place mean.
func (n *Net) embed(in *link.Input) matrix {
	size := len(in.Items)
	meaning, contents := newMatrix(size, vectors.Dim), newMatrix(size, vectors.Dim)
	for i := range in.Items {
		n.meanOf(meaning.row(i), in.Items[i].Words, link.MaxWords, true)
		n.meanOf(contents.row(i), in.Items[i].Cells, link.MaxCells, false)
	}
	x := n.word.apply(meaning)
	cells := n.cell.apply(contents)
	for i := range in.Items {
		item, row := &in.Items[i], x.row(i)
		words := item.Words[:min(len(item.Words), link.MaxWords)]
		for _, w := range words {
			addScaled(row, n.own[int(n.numbers[w])*n.D:], 1/float32(len(words)))
		}
		addTo(row, n.kind[item.Kind*n.D:(item.Kind+1)*n.D])
		if n.hasVector(item.Cells) {
			addTo(row, cells.row(i))
		}
		if item.Bucket > 0 {
			addTo(row, n.bucket[item.Bucket*n.D:(item.Bucket+1)*n.D])
		}
		if i < in.Question {
			at := min(i, places-1)
			addTo(row, n.place[at*n.D:(at+1)*n.D])
		}
	}
	return x
}

// vectorNumber gives the number of a word's vector, or that of its stem; -1 for none.
func (n *Net) vectorNumber(word string) int32 {
	if i := n.vec.Number(word); i >= 0 {
		return i
	}
	return n.vec.Number(catalog.Stem(word))
}

func (n *Net) hasVector(words []string) bool {
	for _, w := range words {
		if n.vectorNumber(w) >= 0 {
			return true
		}
	}
	return false
}

// meanOf adds the mean of words' vectors to a row. Words without one count as zero,
// or not at all.
func (n *Net) meanOf(row []float32, words []string, most int, unknown bool) {
	count := 0
	for _, w := range words {
		i := n.vectorNumber(w)
		if i < 0 && !unknown || count == most {
			continue
		}
		count++
		if i >= 0 {
			n.vec.AddTo(row, i)
		}
	}
	for k := range row {
		row[k] *= n.VectorScale / float32(max(count, 1))
	}
}

// apply is one layer: each item takes from the others, by what they are and by what
// they have to do with each other.
func (l *encoderLayer) apply(x *matrix, in *link.Input, n *Net, number int) {
	size, heads, width := x.rows, n.Heads, n.D/n.Heads
	qkv := l.qkv.apply(l.norm1.apply(*x))
	out := newMatrix(size, n.D)
	scale := float32(1 / math.Sqrt(float64(width)))
	parallel(size, func(from, to int) {
		weights := make([]float32, size)
		through := make([]float32, n.Relations)
		for i := from; i < to; i++ {
			relations := in.Relations[i*size : (i+1)*size]
			for h := range heads {
				bias := n.bias[(number*heads+h)*n.Relations:][:n.Relations]
				q := qkv.row(i)[h*width : (h+1)*width]
				for j := range size {
					weights[j] = dot(q, qkv.row(j)[n.D+h*width:n.D+(h+1)*width]) * scale
					for set := relations[j]; set != 0; set &= set - 1 {
						weights[j] += bias[bits.TrailingZeros64(set)]
					}
				}
				softmax(weights)
				clear(through)
				to := out.row(i)[h*width : (h+1)*width]
				for j, w := range weights {
					addScaled(to, qkv.row(j)[2*n.D+h*width:2*n.D+(h+1)*width], w)
					for set := relations[j]; set != 0; set &= set - 1 {
						through[bits.TrailingZeros64(set)] += w
					}
				}
				for r, w := range through {
					if w != 0 {
						addScaled(to, l.relation[(h*n.Relations+r)*width:(h*n.Relations+r+1)*width], w)
					}
				}
			}
		}
	})
	attended := l.out.apply(out)
	addTo(x.data, attended.data)
	up := l.up.apply(l.norm2.apply(*x))
	gelu(up)
	down := l.down.apply(up)
	addTo(x.data, down.data)
}

// answer judges whether the data holds what was asked for.
func (n *Net) answer(memory matrix, question int) float64 {
	both := newMatrix(1, 2*n.D)
	words, best := both.data[:n.D], both.data[n.D:]
	copy(best, memory.row(0))
	for i := range memory.rows {
		row := memory.row(i)
		if i < question {
			addScaled(words, row, 1/float32(question))
		}
		for k, v := range row {
			best[k] = max(best[k], v)
		}
	}
	hidden := n.judge.apply(both)
	gelu(hidden)
	return 1 / (1 + math.Exp(-float64(n.answerable.apply(hidden).data[0])))
}
