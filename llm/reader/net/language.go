package net

import (
	"encoding/binary"
	"fmt"
	"slices"

	"parley/internal/lru"
)

const (
	// maxPieces is the most pieces of a sequence; later ones are cut off.
	maxPieces = 128
	// maxNames is how many names the network remembers the meanings of.
	maxNames = 8192
)

// languageHeader has the sizes of the language encoder in the header of a file of weights.
type languageHeader struct {
	D      int `json:"d"`
	Heads  int `json:"heads"`
	Layers int `json:"layers"`
}

func (h *languageHeader) check() error {
	switch {
	case h.D <= 0 || h.D > maxWidth || h.Heads <= 0 || h.D%h.Heads != 0:
		return fmt.Errorf("a language encoder of width %d with %d heads", h.D, h.Heads)
	case h.Layers <= 0 || h.Layers > maxLayers:
		return fmt.Errorf("a language encoder of %d layers", h.Layers)
	}
	return nil
}

// language is a pretrained encoder of the BERT kind: it encodes sequences of word pieces,
// each on its own. It is safe for concurrent use.
type language struct {
	languageHeader
	// piece stays as it is in the file: few of its many rows are used.
	piece  *tensor
	place  []float32
	norm   norm
	layers []languageLayer
	// names has the meanings of names, by their pieces.
	names *lru.Cache[string, []float32]
}

type languageLayer struct {
	qkv, out, up, down linear
	norm1, norm2       norm
}

func (l *loader) language(h languageHeader, pieces int) *language {
	const name = "language.piece.weight"
	n := &language{
		languageHeader: h, names: lru.New[string, []float32](maxNames), piece: l.find(name, pieces, h.D),
		place: l.take("language.place.weight", maxPieces, h.D), norm: l.norm("language.norm", h.D),
	}
	row := make([]float32, h.D)
	for i := 0; l.err == nil && i < pieces; i++ {
		l.check(name, n.piece.floats(row, i))
	}
	for i := 0; l.err == nil && i < h.Layers; i++ {
		at := fmt.Sprintf("language.layers.%d.", i)
		n.layers = append(n.layers, languageLayer{
			qkv: l.linear(at+"qkv", h.D, 3*h.D), out: l.linear(at+"out", h.D, h.D), up: l.linear(at+"up", h.D, 4*h.D), down: l.linear(at+"down", 4*h.D, h.D),
			norm1: l.norm(at+"norm1", h.D), norm2: l.norm(at+"norm2", h.D),
		})
	}
	return n
}

// pieceRow returns the vector of a piece.
func (l *language) pieceRow(piece int32, s *scratch) []float32 {
	before := s.used
	row := s.alloc(l.D)
	s.used = before
	l.piece.floats(row, int(piece))
	return row
}

// addMeanings adds the meaning of each word of a question, and of each name, to their rows:
// the mean of its pieces.
func (l *language) addMeanings(to matrix, p *Pieces) {
	sequences := [][]int32{p.Question}
	var fresh []int // the items of the other sequences
	for i, name := range p.Names {
		if name == nil {
			continue
		}
		if known, ok := l.names.Get(key(name)); ok {
			addTo(to.row(i), known)
			continue
		}
		sequences, fresh = append(sequences, name), append(fresh, i)
	}
	encoded := l.encode(sequences)
	count := make([]float32, to.rows)
	for _, item := range p.Words {
		if item >= 0 {
			count[item]++
		}
	}
	for i, item := range p.Words {
		if item >= 0 {
			addScaled(to.row(item), encoded[0].row(i), 1/count[item])
		}
	}
	for i, item := range fresh {
		rows, row := encoded[i+1], to.row(item)
		for k := 1; k < rows.rows-1; k++ {
			addScaled(row, rows.row(k), 1/float32(rows.rows-2))
		}
		l.names.Put(key(p.Names[item]), slices.Clone(row), 1)
	}
}

// key returns the pieces of a name as a key.
func key(name []int32) string {
	text := make([]byte, 0, 4*len(name))
	for _, piece := range name {
		text = binary.LittleEndian.AppendUint32(text, uint32(piece))
	}
	return string(text)
}

// encode returns a row for each piece of each sequence, up to maxPieces. It does not depend
// on the other sequences. Pieces are numbers of rows of piece.
func (l *language) encode(sequences [][]int32) []matrix {
	// batchRows is about the most rows at once: their numbers stay in the cache.
	const batchRows = 96
	cut, sizes, rows := make([][]int32, len(sequences)), []int{0}, 0
	var batches []int // the first sequence of each
	for i, sequence := range sequences {
		cut[i] = sequence[:min(len(sequence), maxPieces)]
		if i == 0 || rows+len(cut[i]) > batchRows {
			batches, rows = append(batches, i), 0
		}
		rows += len(cut[i])
		sizes = append(sizes, sizes[i]+len(cut[i]))
	}
	all, out := newMatrix(sizes[len(sequences)], l.D), make([]matrix, len(sequences))
	for i := range out {
		out[i] = all.slice(sizes[i], sizes[i+1])
	}
	batches = append(batches, len(sequences))
	parallel(len(batches)-1, func(from, to int) {
		for i := from; i < to; i++ {
			first, last := batches[i], batches[i+1]
			l.run(all.slice(sizes[first], sizes[last]), cut[first:last], out[first:last])
		}
	})
	return out
}

// run encodes a batch of sequences into x, which has the rows of all of them.
func (l *language) run(x matrix, sequences [][]int32, rows []matrix) {
	if x.rows == 0 {
		return
	}
	s := getScratch()
	defer scratchPool.Put(s)
	for i, sequence := range sequences {
		for k, piece := range sequence {
			row := rows[i].row(k)
			l.piece.floats(row, int(piece))
			addTo(row, l.place[k*l.D:(k+1)*l.D])
		}
	}
	l.norm.apply(x, x)
	for i := range l.layers {
		s.used = 0
		layer := &l.layers[i]
		qkv, mixed := layer.qkv.apply(x, s), s.matrix(x.rows, l.D)
		at := 0
		for _, sequence := range sequences {
			end := at + len(sequence)
			l.attend(mixed.slice(at, end), qkv.slice(at, end), s)
			at = end
		}
		layer.out.add(x, mixed, s)
		layer.norm1.apply(x, x)
		up := layer.up.apply(x, s)
		gelu(up)
		layer.down.add(x, up, s)
		layer.norm2.apply(x, x)
	}
}

// attend adds the attention of a sequence to out.
func (l *language) attend(out, qkv matrix, s *scratch) {
	if out.rows == 0 {
		return
	}
	before := s.used
	packed, width := newHeads(qkv, l.D, l.Heads, s.alloc), l.D/l.Heads
	work := func(from, to int) {
		s := getScratch()
		defer scratchPool.Put(s)
		weights := s.matrix(out.rows, out.rows)
		for h := from; h < to; h++ {
			packed.attentionWeights(h, weights, qkv, func(int, []float32) {})
			addProduct(out, h*width, weights, 0, &packed.values[h])
		}
	}
	if out.rows*out.rows*l.D < minParallelWork {
		work(0, l.Heads)
	} else {
		parallel(l.Heads, work)
	}
	s.used = before
}
