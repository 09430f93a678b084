package link

import "parley/llm/reader/ir"

// relate sets a relation from one item to another.
func (b *builder) relate(from, to int, r Relation) { b.Relations[from*b.n+to] |= 1 << r }

// relateSequence sets the relations of distance in a sequence.
func (b *builder) relateSequence(start, n int) {
	for i := range n {
		for j := range n {
			b.relate(start+i, start+j, Relation(max(-4, min(4, j-i))+4))
		}
	}
}

// relateName relates the question's words to a table or column.
func (b *builder) relateName(item int, l links, exact, part, exactBack, partBack Relation) {
	both := func(words []int, there, back Relation) {
		for _, i := range words {
			b.relate(i, item, there)
			b.relate(item, i, back)
		}
	}
	both(l.exact, exact, exactBack)
	both(l.part, part, partBack)
	both(l.similar, Similar, Similar)
	both(l.fair, FairlySimilar, FairlySimilar)
	both(l.prefix, Prefix, Prefix)
	both(l.described, Described, Described)
}

func (b *builder) relateSchema() {
	for _, c := range b.Columns {
		item, table := b.itemOfColumn[c], b.Question+b.cat.Columns[c].Table
		b.relate(item, table, ColumnInTable)
		b.relate(table, item, TableOfColumn)
		if b.isPlainKey(c) {
			b.relate(table, item, KeyOfTable)
		}
		for _, other := range b.Columns {
			if b.cat.Columns[other].Table == b.cat.Columns[c].Table {
				b.relate(item, b.itemOfColumn[other], SameTable)
			}
		}
	}
	for _, l := range b.cat.Links {
		from, to := b.Question+b.cat.Columns[l.From].Table, b.Question+b.cat.Columns[l.To].Table
		b.relate(from, to, LinkedTables)
		b.relate(to, from, LinkedTables)
		a, ok := b.itemOfColumn[l.From]
		z, also := b.itemOfColumn[l.To]
		if ok && also {
			b.relate(a, z, RefersTo)
			b.relate(z, a, ReferredBy)
		}
	}
}

// firstValue is the item of the first value.
func (in *Input) firstValue() int { return in.Question + in.Tables + len(in.Columns) }

func (b *builder) relateValues() {
	first := b.firstValue()
	for k, v := range b.Values {
		for i := v.Start; i < v.End; i++ {
			b.relate(i, first+k, WordOfValue)
			b.relate(first+k, i, ValueOfWord)
		}
		for c := range v.Cells {
			if item, ok := b.itemOfColumn[c]; ok {
				b.relate(first+k, item, ValueInColumn)
				b.relate(item, first+k, ColumnOfValue)
			}
		}
	}
}

// relateEarlier relates the tokens of the earlier query to each other by distance,
// and to the items that they stand for.
func (b *builder) relateEarlier(earlier *EarlierQuery) {
	if earlier == nil {
		return
	}
	first := b.n - b.Earlier
	b.relateSequence(first, b.Earlier)
	values := len(b.Values) - len(earlier.Values)
	for i, t := range earlier.Tokens[:b.Earlier] {
		item := -1
		switch t.Class {
		case ir.TableRef:
			item = b.Question + t.N
		case ir.ColumnRef:
			if at, ok := b.itemOfColumn[t.N]; ok {
				item = at
			}
		case ir.ValueRef:
			item = b.firstValue() + values + t.N
		}
		if item >= 0 && item < first {
			b.relate(first+i, item, EarlierItem)
			b.relate(item, first+i, ItemEarlier)
		}
	}
}

// Token returns the token for an item of the input; false for items that cannot be part of
// a query.
func (in *Input) Token(item int) (ir.Token, bool) {
	columns, values := in.Question+in.Tables, in.firstValue()
	switch {
	case item < in.Question:
		return ir.Token{}, false
	case item < columns:
		return ir.Token{Class: ir.TableRef, N: item - in.Question}, true
	case item < values:
		return ir.Token{Class: ir.ColumnRef, N: in.Columns[item-columns]}, true
	case item < values+len(in.Values):
		return ir.Token{Class: ir.ValueRef, N: item - values}, true
	}
	return ir.Token{}, false
}

// ItemOf returns the item that a token refers to; -1 if it is not part of the input.
func (in *Input) ItemOf(t ir.Token) int {
	switch t.Class {
	case ir.TableRef:
		return in.Question + t.N
	case ir.ColumnRef:
		for i, c := range in.Columns {
			if c == t.N {
				return in.Question + in.Tables + i
			}
		}
	case ir.ValueRef:
		if t.N < len(in.Values) {
			return in.firstValue() + t.N
		}
	}
	return -1
}

// IRValues returns the values without their matches.
func (in *Input) IRValues() []ir.Value {
	values := make([]ir.Value, len(in.Values))
	for i, v := range in.Values {
		values[i] = v.Value
	}
	return values
}
