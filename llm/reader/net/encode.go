package net

import (
	"math"
	"math/bits"
	"slices"

	"parley/llm/reader/link"
)

// Numbers of positions of words and of steps of queries with weights; later ones use the
// last.
const (
	maxPositions = 64
	maxSteps     = 80
)

// Encoded is the output of the encoder for an input.
type Encoded struct {
	in     *link.Input
	memory matrix
	// items are the keys of the pointer, pointed the embeddings of items in the next step,
	// and crossAttention the keys and values of each decoder layer.
	items          groups
	pointed        matrix
	crossAttention []heads
	// Answerable is the probability that the data has an answer.
	Answerable float64
}

// heads are the keys and values of attention, for each head.
type heads struct{ keys, values []groups }

// newHeads packs keys and values, which are in x from a column on.
func newHeads(x matrix, column, count int, take func(n int) []float32) heads {
	all := heads{make([]groups, 0, count), make([]groups, 0, count)}
	d := (x.cols - column) / 2
	width := d / count
	for h := range count {
		all.keys = append(all.keys, rowGroups(take(groupsSize(width, x.rows)), x, column+h*width, width))
		all.values = append(all.values, columnGroups(take(groupsSize(x.rows, width)), x, column+d+h*width, width))
	}
	return all
}

// Encode runs the encoder on an input.
func (n *Net) Encode(in *link.Input) *Encoded {
	s := getScratch()
	defer scratchPool.Put(s)
	x := n.embed(in, s)
	relations := slices.Clone(in.Relations)
	for i := range relations {
		relations[i] &= n.used
	}
	for i := range n.encoderLayers {
		before := s.used
		n.encoderLayers[i].apply(x, relations, n, i, s)
		s.used = before
	}
	e := &Encoded{in: in, memory: n.norm.apply(x, newMatrix(x.rows, x.cols)), pointed: newMatrix(x.rows, x.cols)}
	n.pointed.add(e.pointed, e.memory, s)
	items := n.item.apply(e.memory, s)
	fresh := func(size int) []float32 { return make([]float32, size) }
	e.items = rowGroups(fresh(groupsSize(n.D, x.rows)), items, 0, n.D)
	for i := range n.decoderLayers {
		before := s.used
		e.crossAttention = append(e.crossAttention, newHeads(n.decoderLayers[i].keys.apply(e.memory, s), 0, n.Heads, fresh))
		s.used = before
	}
	e.Answerable = n.answerability(e.memory, in.Question, s)
	return e
}

// embed returns the sum of the embeddings of each item's text, kind, values and position.
func (n *Net) embed(in *link.Input, s *scratch) matrix {
	p := PiecesOf(n.pieces, in)
	size := len(in.Items)
	meanings, contents := s.matrix(size, n.language.D), s.matrix(size, n.language.D)
	n.language.addMeanings(meanings, p)
	for i, bag := range p.Bags {
		for _, piece := range bag {
			addScaled(contents.row(i), n.language.pieceRow(piece, s), n.BagScale/float32(len(bag)))
		}
	}
	x := n.word.apply(meanings, s)
	cells := n.cell.apply(contents, s)
	for i := range in.Items {
		item, row := &in.Items[i], x.row(i)
		addTo(row, n.kind[item.Kind*n.D:(item.Kind+1)*n.D])
		if len(p.Bags[i]) > 0 {
			addTo(row, cells.row(i))
		}
		if item.Keyword > 0 && item.Keyword <= len(n.Keywords) {
			addTo(row, n.earlier[(item.Keyword-1)*n.D:item.Keyword*n.D])
		}
		if item.Bucket > 0 {
			addTo(row, n.bucket[item.Bucket*n.D:(item.Bucket+1)*n.D])
		}
		if i < in.Question {
			at := min(i, maxPositions-1)
			addTo(row, n.place[at*n.D:(at+1)*n.D])
		}
	}
	return x
}

// apply runs one layer: self-attention with relations between items, and a feed-forward
// network.
func (l *encoderLayer) apply(x matrix, relations []uint64, n *Net, number int, s *scratch) {
	qkv := l.qkv.apply(l.norm1.apply(x, s.matrix(x.rows, x.cols)), s)
	out := s.matrix(x.rows, n.D)
	packed := newHeads(qkv, n.D, n.Heads, s.alloc)
	parallel(n.Heads, func(from, to int) {
		s := getScratch()
		defer scratchPool.Put(s)
		for h := from; h < to; h++ {
			bias := n.bias[(number*n.Heads+h)*n.Relations:][:n.Relations]
			l.attend(out, h, qkv, packed, relations, bias, s)
			s.used = 0
		}
	})
	l.out.add(x, out, s)
	up := l.up.apply(l.norm2.apply(x, out), s)
	gelu(up)
	l.down.add(x, up, s)
}

// attend adds the attention of one head to the columns of that head. Each relation adds a
// bias to the weight, and a vector to the value.
func (l *encoderLayer) attend(out matrix, h int, queries matrix, packed heads, relations []uint64, bias []float32, s *scratch) {
	const most = 4 * tileRows // rows at once: their weights stay in the cache
	size, width := out.rows, packed.values[h].out
	through, all := s.matrix(size, len(bias)), s.matrix(most, size)
	for i := 0; i < size; i += most {
		end := min(i+most, size)
		weights := all.slice(0, end-i)
		packed.attentionWeights(h, weights, queries.slice(i, end), func(k int, weights []float32) {
			for j, set := range relations[(i+k)*size : (i+k+1)*size] {
				for ; set != 0; set &= set - 1 {
					weights[j] += bias[bits.TrailingZeros64(set)]
				}
			}
		})
		for k := range weights.rows {
			taken, weights := through.row(i+k), weights.row(k)
			for j, set := range relations[(i+k)*size : (i+k+1)*size] {
				for ; set != 0; set &= set - 1 {
					taken[bits.TrailingZeros64(set)] += weights[j]
				}
			}
		}
		addProduct(out.slice(i, end), h*width, weights, 0, &packed.values[h])
	}
	addProduct(out, h*width, through, 0, &l.relation[h])
}

// attentionWeights computes the attention weights of queries, which are in the columns of
// the head. more may change the logits before the softmax.
func (m heads) attentionWeights(h int, weights, queries matrix, more func(k int, weights []float32)) {
	width := m.values[h].out
	clear(weights.data)
	addProduct(weights, 0, queries, h*width, &m.keys[h])
	scale := float32(1 / math.Sqrt(float64(width)))
	for k := range weights.rows {
		row := weights.row(k)
		for j := range row {
			row[j] *= scale
		}
		more(k, row)
		softmax(row)
	}
}

// answerability returns the probability that the data has an answer.
func (n *Net) answerability(memory matrix, question int, s *scratch) float64 {
	both := s.matrix(1, 2*n.D)
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
	hidden := n.judge.apply(both, s)
	gelu(hidden)
	return 1 / (1 + math.Exp(-float64(n.answerable.apply(hidden, s).data[0])))
}
