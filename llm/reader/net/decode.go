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
	// Beams is how many queries are written side by side.
	Beams     = 8
	maxTokens = 60
	// maxBehind is how much less likely than the best a query may be to be written
	// on, as a logarithm.
	maxBehind = 7
)

// Candidate is a query that was written, and the logarithm of its probability.
type Candidate struct {
	Tokens []ir.Token
	Score  float64
}

// beam is a query that is being written.
type beam struct {
	tokens []ir.Token
	ids    []int
	state  ir.State
	score  float64
	// keys and values of the steps so far, for each decoder layer.
	past []matrix
}

// Write writes the likeliest queries, the best first. Each is a whole query by the
// grammar whose columns and values have fitting types.
func (n *Net) Write(e *Encoded, cat *catalog.Catalog) []Candidate {
	beams := []*beam{{state: ir.Start(), past: make([]matrix, len(n.decoderLayers))}}
	var done []Candidate
	for range maxTokens {
		logits := n.next(e, beams)
		options := n.options(e, cat, beams, logits)
		if len(options) == 0 {
			break // the grammar wants what the catalog does not have
		}
		best := options[0].score
		if len(done) > 0 {
			best = max(best, done[0].Score)
		}
		beams = beams[:0:0]
		for _, o := range options[:min(len(options), Beams)] {
			if o.score < best-maxBehind {
				break
			}
			next, ok := o.from.after(o.token, o.id, o.score)
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

// option is a way to go on with a beam.
type option struct {
	from  *beam
	token ir.Token
	id    int
	score float64
}

func (b *beam) after(t ir.Token, id int, score float64) (*beam, bool) {
	state, ok := b.state.Next(t)
	if !ok {
		return nil, false
	}
	next := &beam{state: state, score: score, ids: append(slices.Clip(b.ids), id), past: slices.Clone(b.past), tokens: b.tokens}
	if !state.Done() {
		next.tokens = append(slices.Clip(b.tokens), t)
	}
	return next, true
}

// options are the ways to go on that the grammar allows, the likeliest first. What it
// does not allow has no share of the probability.
func (n *Net) options(e *Encoded, cat *catalog.Catalog, beams []*beam, logits matrix) []option {
	var all []option
	for i, b := range beams {
		row := logits.row(i)
		allowed := b.state.Allowed()
		var mine []option
		highest := math.Inf(-1)
		add := func(id int, t ir.Token) {
			mine = append(mine, option{from: b, token: t, id: id, score: float64(row[id])})
			highest = max(highest, float64(row[id]))
		}
		for w := range n.Keywords {
			if allowed.Has(ir.Word(w)) {
				add(w, ir.Token{Class: ir.Keyword, N: w})
			}
		}
		for item := e.in.Question; item < len(e.in.Items); item++ {
			if t, ok := e.in.Token(item); ok && fits(e, cat, b, allowed, t) {
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
	slices.SortStableFunc(all, func(a, b option) int { return cmp.Compare(b.score, a.score) })
	return all
}

// fits reports whether a token may come next, by its class and type.
func fits(e *Encoded, cat *catalog.Catalog, b *beam, a ir.Allowed, t ir.Token) bool {
	switch t.Class {
	case ir.TableRef:
		return a.Table
	case ir.ColumnRef:
		kind := cat.Columns[t.N].Kind
		return a.Column || a.Number && (kind == catalog.Number || kind == catalog.Clock || kind == catalog.Bool) || a.Date && kind == catalog.Date
	}
	v := e.in.Values[t.N]
	if a.Limit {
		return v.Kind == ir.NumberValue && len(v.Text) < 5
	}
	return a.Value && comparable(cat, b.state.Column(), v.Value) && !(b.comparesEqual() && elsewhere(cat, b.state.Column(), v.Value))
}

// comparesEqual reports whether a beam wants the value that a column equals.
func (b *beam) comparesEqual() bool {
	last := b.tokens[len(b.tokens)-1]
	return last.Is("=") || last.Is("!=")
}

// elsewhere reports whether a text is in the cells of other columns and in none of this
// one.
func elsewhere(cat *catalog.Catalog, column int, v ir.Value) bool {
	return column >= 0 && v.Kind == ir.TextValue && len(v.Cells) > 0 && len(v.Cells[column]) == 0 && cat.Columns[column].Complete
}

// comparable reports whether a value can be compared with a column.
func comparable(cat *catalog.Catalog, column int, v ir.Value) bool {
	if column < 0 {
		return v.Kind == ir.NumberValue || v.Kind == ir.PeriodValue
	}
	switch cat.Columns[column].Kind {
	case catalog.Date:
		return v.Kind != ir.TextValue
	case catalog.Number, catalog.Clock:
		_, number := catalog.ParseNumber(v.Text)
		return len(v.Cells[column]) > 0 || v.Kind != ir.TextValue && number
	case catalog.Other:
		return false
	}
	return true
}

// next gives the logits of what follows each beam.
func (n *Net) next(e *Encoded, beams []*beam) matrix {
	x := newMatrix(len(beams), n.D)
	for i, b := range beams {
		n.embedStep(x.row(i), e, b)
	}
	for i := range n.decoderLayers {
		n.decoderLayers[i].apply(&x, e, n, beams, i)
	}
	x = n.last.apply(x)
	words := n.say.apply(x)
	points := n.point.apply(x)
	out := newMatrix(len(beams), len(n.Keywords)+len(e.in.Items))
	scale := float32(1 / math.Sqrt(float64(n.D)))
	for i := range beams {
		row := out.row(i)
		copy(row, words.row(i))
		for item := e.in.Question; item < len(e.in.Items); item++ {
			row[len(n.Keywords)+item] = dot(points.row(i), e.items.row(item)) * scale
		}
	}
	return out
}

// embedStep gives the last token of a beam as a vector.
func (n *Net) embedStep(row []float32, e *Encoded, b *beam) {
	at := len(b.ids)
	switch {
	case at == 0:
		copy(row, n.keyword[len(n.Keywords)*n.D:])
	case b.ids[at-1] < len(n.Keywords):
		copy(row, n.keyword[b.ids[at-1]*n.D:(b.ids[at-1]+1)*n.D])
	default:
		item := b.ids[at-1] - len(n.Keywords)
		pointed := n.pointed.apply(matrix{e.memory.row(item), 1, n.D})
		copy(row, pointed.data)
	}
	at = min(at, steps-1)
	addTo(row, n.step[at*n.D:(at+1)*n.D])
}

// apply is one layer: each beam takes from its own steps and from the input.
func (l *decoderLayer) apply(x *matrix, e *Encoded, n *Net, beams []*beam, number int) {
	heads, width := n.Heads, n.D/n.Heads
	scale := float32(1 / math.Sqrt(float64(width)))
	qkv := l.qkv.apply(l.norm1.apply(*x))
	out := newMatrix(len(beams), n.D)
	for i, b := range beams {
		past := &b.past[number]
		*past = matrix{append(slices.Clip(past.data), qkv.row(i)[n.D:]...), past.rows + 1, 2 * n.D}
		attend(out.row(i), qkv.row(i)[:n.D], *past, heads, width, scale)
	}
	addTo(x.data, l.out.apply(out).data)
	queries := l.query.apply(l.norm2.apply(*x))
	clear(out.data)
	parallel(len(beams), func(from, to int) {
		for i := from; i < to; i++ {
			attend(out.row(i), queries.row(i), e.keys[number], heads, width, scale)
		}
	})
	addTo(x.data, l.cross.apply(out).data)
	up := l.up.apply(l.norm3.apply(*x))
	gelu(up)
	addTo(x.data, l.down.apply(up).data)
}

// attend adds to a row what a query finds among keys and values, which stand side by
// side in each row of keys.
func attend(out, query []float32, keys matrix, heads, width int, scale float32) {
	d := heads * width
	weights := make([]float32, keys.rows)
	for h := range heads {
		q := query[h*width : (h+1)*width]
		for j := range weights {
			weights[j] = dot(q, keys.row(j)[h*width:(h+1)*width]) * scale
		}
		softmax(weights)
		to := out[h*width : (h+1)*width]
		for j, w := range weights {
			addScaled(to, keys.row(j)[d+h*width:d+(h+1)*width], w)
		}
	}
}
