package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/train/dataset"
)

// Limits of an example: larger ones are left out.
const (
	maxItems  = 200
	maxTarget = 64
)

// record is an example in numeric form.
type record struct {
	in     *link.Input
	pieces *net.Pieces
	cat    *catalog.Catalog
	target []int32
	// part is 0 for training, 1 for development, 2 for validation.
	part, origin, db int32
	unanswerable     bool
}

var parts = map[string]int32{dataset.Train: 0, dataset.Dev: 1, dataset.Validation: 2}

// records makes the examples of a database.
func (w *writer) records(s *source, sources []source) []record {
	rng := rand.New(rand.NewPCG(seedOf(s.name), 11))
	part := dataset.Part(s.name)
	var all []record
	add := func(one item, cat *catalog.Catalog) {
		in, target, ok := example(one, cat)
		if !ok {
			return
		}
		if r, ok := newRecord(in, target, one); ok {
			r.cat, r.part, r.db = cat, parts[part], int32(s.number)
			r.pieces = net.PiecesOf(w.pieces, in)
			all = append(all, r)
		}
	}
	var wider []*catalog.Catalog
	if part == dataset.Train && !strings.HasPrefix(s.name, "wtq/") {
		for range 3 {
			if cat := withOtherTables(s, sources, rng); cat != nil {
				wider = append(wider, cat)
			}
		}
		for _, one := range s.itemsWithOtherValues(rng) {
			add(one, s.cat)
		}
	}
	asked := s.exampleItems()
	for _, one := range asked {
		if part != dataset.Train {
			add(one, s.cat)
			continue
		}
		for _, v := range variants(one, rng) {
			add(v, s.cat)
		}
		if len(wider) > 0 && rng.Float64() < 0.5 {
			add(one, wider[rng.IntN(len(wider))])
		}
		if one.unanswerable || one.before != nil {
			continue
		}
		// A standalone question means the same after another one.
		if before := &asked[rng.IntN(len(asked))]; rng.Float64() < 0.3 && !before.unanswerable && before.before == nil {
			after := one
			after.before = before
			add(after, s.cat)
		}
		for range 2 {
			if other, cat, ok := w.names.withOtherNames(one, s.cat, rng); ok {
				add(other, cat)
			}
		}
		if rng.Float64() < 0.15 {
			if cat, ok := w.names.withDescription(one, s.cat, rng); ok {
				add(one, cat)
			}
		}
		// The same question of other data has no answer there, as a rule.
		if rng.Float64() < 0.25 {
			other := &sources[rng.IntN(len(sources))]
			if other.name != s.name && strings.SplitN(other.name, "/", 2)[0] == strings.SplitN(s.name, "/", 2)[0] {
				add(item{question: one.question, unanswerable: true, origin: fromElsewhere}, other.cat)
			}
		}
		// Nor has it without a column that it needs.
		if rng.Float64() < 0.2 {
			if cat, ok := withoutColumn(s, one, rng); ok {
				add(item{question: one.question, unanswerable: true, origin: fromElsewhere}, cat)
			}
		}
	}
	for _, one := range s.templateItems() {
		other, cat := one, s.cat
		if part == dataset.Train && one.before == nil && rng.Float64() < 0.3 {
			other, cat, _ = w.names.withOtherNames(one, s.cat, rng)
		}
		add(other, cat)
	}
	return all
}

// withoutColumn returns the catalog without a column of an item's query.
func withoutColumn(s *source, one item, rng *rand.Rand) (*catalog.Catalog, bool) {
	tokens, err := ir.Tokens(one.query, func(*ir.Cond, int) (ir.Token, bool) { return ir.Token{Class: ir.ValueRef}, true })
	if err != nil {
		return nil, false
	}
	var columns []int
	for _, t := range tokens {
		if t.Class == ir.ColumnRef && !s.cat.IsReference(t.N) && s.cat.Tables[s.cat.Columns[t.N].Table].Key != t.N && !slices.Contains(columns, t.N) {
			columns = append(columns, t.N)
		}
	}
	if len(columns) == 0 {
		return nil, false
	}
	return s.cat.WithoutColumn(columns[rng.IntN(len(columns))]), true
}

// newRecord converts an example to numbers.
func newRecord(in *link.Input, target []ir.Token, one item) (record, bool) {
	if len(in.Items) > maxItems || len(target)+1 > maxTarget {
		return record{}, false
	}
	r := record{in: in, unanswerable: one.unanswerable, origin: int32(one.origin)}
	for _, t := range target {
		if t.Class == ir.Keyword {
			r.target = append(r.target, int32(t.N))
			continue
		}
		at := in.ItemOf(t)
		if at < 0 {
			return record{}, false
		}
		r.target = append(r.target, int32(len(ir.Keywords)+at))
	}
	r.target = append(r.target, int32(ir.End))
	return r, true
}
