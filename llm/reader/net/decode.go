package net

import (
	"cmp"
	"math"
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// Limits of a search.
const (
	// Beams is the width of the beam search.
	Beams     = 8
	maxTokens = 60
	// maxScoreGap is the maximum difference of log-probabilities to the best query.
	maxScoreGap = 7
)

// Candidate is a complete query with its log-probability.
type Candidate struct {
	Tokens []ir.Token
	Score  float64
}

// beam is a prefix of a query.
type beam struct {
	tokens []ir.Token
	ids    []int
	state  ir.State
	score  float64
	// keyValues are the keys and values of the steps so far, for each decoder layer.
	keyValues [][][]float32
}

// Decode generates the most likely queries by beam search, the best first. Each is valid by
// the grammar and has columns and values of valid types.
func (n *Net) Decode(e *Encoded, cat *catalog.Catalog) []Candidate {
	s := getScratch()
	defer scratchPool.Put(s)
	beams := []*beam{{state: ir.Start(), keyValues: make([][][]float32, len(n.decoderLayers))}}
	var done []Candidate
	for range maxTokens {
		s.used = 0
		logits := n.nextLogits(e, beams, s)
		options := n.expansions(e, cat, beams, logits)
		if len(options) == 0 {
			break // the catalog has nothing that the grammar allows
		}
		best := options[0].score
		if len(done) > 0 {
			best = max(best, done[0].Score)
		}
		beams = beams[:0:0]
		for _, o := range options[:min(len(options), Beams)] {
			if o.score < best-maxScoreGap {
				break
			}
			next, ok := o.beam.extend(o.token, o.id, o.score)
			switch {
			case !ok:
			case next.state.Done():
				done = append(done, Candidate{next.tokens, next.score})
			default:
				beams = append(beams, next)
			}
		}
		slices.SortStableFunc(done, func(a, b Candidate) int { return cmp.Compare(b.Score, a.Score) })
		done = done[:min(len(done), Beams)]
		if len(beams) == 0 || len(done) == Beams && done[Beams-1].Score > beams[0].score {
			break
		}
	}
	return done
}

// expansion is a beam with a next token.
type expansion struct {
	beam  *beam
	token ir.Token
	id    int
	score float64
}

func (b *beam) extend(t ir.Token, id int, score float64) (*beam, bool) {
	state, ok := b.state.Next(t)
	if !ok {
		return nil, false
	}
	next := &beam{state: state, score: score, ids: append(slices.Clip(b.ids), id), keyValues: slices.Clone(b.keyValues), tokens: b.tokens}
	if !state.Done() {
		next.tokens = append(slices.Clip(b.tokens), t)
	}
	return next, true
}

// expansions returns the next tokens that the grammar allows, the most likely first. Other
// tokens have no probability.
func (n *Net) expansions(e *Encoded, cat *catalog.Catalog, beams []*beam, logits matrix) []expansion {
	var all []expansion
	for i, b := range beams {
		row := logits.row(i)
		allowed := b.state.Allowed()
		var mine []expansion
		highest := math.Inf(-1)
		add := func(id int, t ir.Token) {
			mine = append(mine, expansion{beam: b, token: t, id: id, score: float64(row[id])})
			highest = max(highest, float64(row[id]))
		}
		for w := range n.Keywords {
			if allowed.Has(ir.Word(w)) {
				add(w, ir.Token{Class: ir.Keyword, N: w})
			}
		}
		for item := e.in.Question; item < len(e.in.Items); item++ {
			t, ok := e.in.Token(item)
			var v ir.Value
			if t.Class == ir.ValueRef {
				v = e.in.Values[t.N].Value
			}
			if ok && b.state.Fits(allowed, t, cat, v) && !(t.Class == ir.ValueRef && b.comparesEqual() && onlyInOtherColumns(cat, b.state.Column(), v)) {
				add(len(n.Keywords)+item, t)
			}
		}
		sum := 0.0
		for _, o := range mine {
			sum += math.Exp(o.score - highest)
		}
		total := highest + math.Log(sum)
		for _, o := range mine {
			o.score += b.score - total
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b expansion) int { return cmp.Compare(b.score, a.score) })
	return all
}

// comparesEqual reports whether the next token of a beam is a value for equality.
func (b *beam) comparesEqual() bool {
	last := b.tokens[len(b.tokens)-1]
	return last.Is("=") || last.Is("!=")
}

// onlyInOtherColumns reports whether a text matches cells of other columns but none of this
// one.
func onlyInOtherColumns(cat *catalog.Catalog, column int, v ir.Value) bool {
	return column >= 0 && v.Kind == ir.TextValue && len(v.Cells) > 0 && len(v.Cells[column]) == 0 && cat.Columns[column].Complete
}

// nextLogits returns the logits of the next token of each beam.
func (n *Net) nextLogits(e *Encoded, beams []*beam, s *scratch) matrix {
	x := s.matrix(len(beams), n.D)
	for i, b := range beams {
		n.embedStep(x.row(i), e, b)
	}
	for i := range n.decoderLayers {
		before := s.used
		n.decoderLayers[i].apply(x, e, n, beams, i, s)
		s.used = before
	}
	x = n.last.apply(x, s.matrix(x.rows, n.D))
	points := n.point.apply(x, s)
	scale := float32(1 / math.Sqrt(float64(n.D)))
	for i := range points.data {
		points.data[i] *= scale
	}
	words := n.say.apply(x, s)
	out := s.matrix(len(beams), len(n.Keywords)+len(e.in.Items))
	for i := range beams {
		copy(out.row(i), words.row(i))
	}
	addProduct(out, len(n.Keywords), points, 0, &e.items)
	return out
}

// embedStep sets a row to the embedding of a beam's last token.
func (n *Net) embedStep(row []float32, e *Encoded, b *beam) {
	at := len(b.ids)
	switch {
	case at == 0:
		copy(row, n.keyword[len(n.Keywords)*n.D:])
	case b.ids[at-1] < len(n.Keywords):
		copy(row, n.keyword[b.ids[at-1]*n.D:])
	default:
		copy(row, e.pointed.row(b.ids[at-1]-len(n.Keywords)))
	}
	at = min(at, maxSteps-1)
	addTo(row, n.step[at*n.D:(at+1)*n.D])
}

// apply runs one layer: self-attention over the steps of each beam, cross-attention to the
// input, and a feed-forward network.
func (l *decoderLayer) apply(x matrix, e *Encoded, n *Net, beams []*beam, number int, s *scratch) {
	normed := l.norm1.apply(x, s.matrix(x.rows, n.D))
	qkv := newMatrix(x.rows, 3*n.D) // the beams keep it
	l.qkv.add(qkv, normed, s)
	out := s.matrix(x.rows, n.D)
	for i, b := range beams {
		b.keyValues[number] = append(slices.Clip(b.keyValues[number]), qkv.row(i)[n.D:])
		attend(out.row(i), qkv.row(i)[:n.D], b.keyValues[number], n.Heads, s)
	}
	l.out.add(x, out, s)
	queries := l.query.apply(l.norm2.apply(x, normed), s)
	clear(out.data)
	memory, width := e.crossAttention[number], n.D/n.Heads
	weights := s.matrix(x.rows, e.memory.rows)
	for h := range n.Heads {
		memory.attentionWeights(h, weights, queries, func(int, []float32) {})
		addProduct(out, h*width, weights, 0, &memory.values[h])
	}
	l.cross.add(x, out, s)
	up := l.up.apply(l.norm3.apply(x, normed), s)
	gelu(up)
	l.down.add(x, up, s)
}

// attend adds the attention over the past steps of a beam to a row. Each step has its key
// and value in one row.
func attend(out, query []float32, past [][]float32, heads int, s *scratch) {
	d, width := len(query), len(query)/heads
	scale := float32(1 / math.Sqrt(float64(width)))
	before := s.used
	weights := s.alloc(len(past))
	for from := 0; from < d; from += width {
		for j, step := range past {
			weights[j] = dot(query[from:from+width], step[from:from+width]) * scale
		}
		softmax(weights)
		for j, w := range weights {
			addScaled(out[from:from+width], past[j][d+from:d+from+width], w)
		}
	}
	s.used = before
}
