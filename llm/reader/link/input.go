package link

import (
	"cmp"
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/vectors"
)

// Limits of an input.
const (
	maxColumns = 72
	// MaxCells is the maximum number of words of a column's values.
	MaxCells         = 8
	maxEarlierTokens = 40
)

// Relation is a relation between two items of an input.
type Relation uint8

// The relations. Nine of distance in a sequence come first: four or more before,
// three, two and one before, itself, and the same after. Then question words and the
// names of tables and columns, in both directions, similar words, prefixes, values, and
// what holds in the schema. Their order is part of the format of trained weights.
const (
	ExactTable Relation = iota + 9
	PartTable
	TableExact
	TablePart
	ExactColumn
	PartColumn
	ColumnExact
	ColumnPart
	Similar
	FairlySimilar
	Prefix
	WordOfValue
	ValueOfWord
	ColumnInTable
	TableOfColumn
	SameTable
	RefersTo
	ReferredBy
	LinkedTables
	KeyOfTable
	ValueInColumn
	ColumnOfValue
	Described
	EarlierItem
	ItemEarlier
	// Relations is the number of relations.
	Relations
)

// Kinds of items: question words, tables, columns by type and role (key, reference, other),
// values by kind of match, and tokens of an earlier query.
const (
	kindWord     = 0
	kindTable    = 1
	kindColumn   = 2
	kindValue    = kindColumn + 12
	kindEarlier  = kindValue + matchKinds
	Kinds        = kindEarlier + 2
	Buckets      = 11
	columnTypes  = 3
	plainColumn  = 2
	linkedColumn = 1
)

// Item is one element of an input.
type Item struct {
	Words []string
	Kind  int
	// Cells are words of a column's values, and Bucket is their size class.
	Cells  []string
	Bucket int
	// Keyword is one more than the number of an earlier query's keyword.
	Keyword int
}

// Input is the input of the network for one question. Golden files have its field names.
type Input struct {
	Items []Item
	// Relations has a bit for each relation of each pair of items.
	Relations []uint64
	// Question and Tables count items; the items of Columns, Values and Earlier follow in
	// this order.
	Question, Tables int
	// Columns are the catalog's columns that are part of the input.
	Columns []int
	Values  []ValueMatch
	Earlier int
}

// EarlierQuery is the reading of the previous question, which a follow-up question refers
// to.
type EarlierQuery struct {
	Tokens []ir.Token
	Values []ValueMatch
}

// builder builds an input.
type builder struct {
	*Input
	cat    *catalog.Catalog
	tokens []Token
	vec    *vectors.Vectors
	// tokensByStem has the tokens of each stem, and joinedSpans the tokens in a row by
	// their joined text.
	tokensByStem map[string][]int
	joinedSpans  map[string][]tokenRange
	// written has the names with digits or signs that are in the question in full.
	written map[string][]tokenRange
	// misspelled has the tokens that are neither English words nor in a name.
	misspelled []int
	// vectorNumbers caches the numbers of words' vectors.
	vectorNumbers map[string]int32
	// itemOfColumn has the item of each column of the input.
	itemOfColumn map[int]int
	n            int
}

// New makes the input of a question, with all columns in keep.
func New(tokens []Token, cat *catalog.Catalog, values []ValueMatch, earlier *EarlierQuery, keep []int) *Input {
	tokens = restoreWords(tokens, cat)
	b := &builder{Input: &Input{Question: len(tokens), Tables: len(cat.Tables)}, cat: cat, tokens: tokens, vec: vectors.Load(), tokensByStem: map[string][]int{}, vectorNumbers: map[string]int32{}, itemOfColumn: map[int]int{}}
	for i, t := range tokens {
		b.tokensByStem[t.Stem] = append(b.tokensByStem[t.Stem], i)
		if t.Long != "" && t.Long != t.Stem {
			b.tokensByStem[t.Long] = append(b.tokensByStem[t.Long], i)
		}
	}
	if earlier != nil {
		for _, v := range earlier.Values {
			v.How, v.Start, v.End = Earlier, 0, 0
			values = append(slices.Clip(values), v)
		}
	}
	b.Values = values
	b.joinedSpans, b.written = joinedWords(tokens), writtenNames(tokens, cat)
	b.misspelled = misspelledWords(tokens, values, cat.NameStems())
	tables := make([]links, len(cat.Tables))
	for i := range cat.Tables {
		tables[i] = b.linkName(cat.Tables[i].Name, cat.Tables[i].Words, cat.Tables[i].Stems(), cat.Tables[i].Hints)
	}
	columns := make([]links, len(cat.Columns))
	for i := range cat.Columns {
		columns[i] = b.linkName(cat.Columns[i].Name, cat.Columns[i].Words, cat.Columns[i].Stems(), cat.Columns[i].Hints)
	}
	b.Columns = b.selectColumns(tables, columns, keep)
	b.addItems(earlier)
	b.n = len(b.Items)
	b.Relations = make([]uint64, b.n*b.n)
	b.relateSequence(0, len(tokens))
	for i, l := range tables {
		b.relateName(len(tokens)+i, l, ExactTable, PartTable, TableExact, TablePart)
	}
	for _, c := range b.Columns {
		b.relateName(b.itemOfColumn[c], columns[c], ExactColumn, PartColumn, ColumnExact, ColumnPart)
	}
	b.relateSchema()
	b.relateValues()
	b.relateEarlier(earlier)
	return b.Input
}

// vectorNumber returns the number of a word's vector; -1 for none.
func (b *builder) vectorNumber(word string) int32 {
	n, ok := b.vectorNumbers[word]
	if !ok {
		n = b.vec.Number(word)
		b.vectorNumbers[word] = n
	}
	return n
}

// selectColumns returns the columns of the input: all, or those most relevant to the
// question.
func (b *builder) selectColumns(tables, columns []links, keep []int) []int {
	all := make([]int, len(columns))
	for i := range all {
		all[i] = i
	}
	if len(all) <= maxColumns {
		return all
	}
	scores := make([]float64, len(columns))
	inValue := map[int]bool{}
	for _, v := range b.Values {
		for c := range v.Cells {
			inValue[c] = true
		}
	}
	for i, l := range columns {
		column := &b.cat.Columns[i]
		t := tables[column.Table]
		scores[i] = 3*float64(len(l.exact)) + 1.5*float64(len(l.part)) + float64(len(l.similar)) + 0.3*float64(len(l.fair)) + 0.5*float64(len(l.prefix)+len(l.described)) +
			0.7*(2*float64(len(t.exact))+float64(len(t.part))+0.5*float64(len(t.similar)))
		if inValue[i] {
			scores[i] += 2
		}
		if b.cat.Tables[column.Table].Key == i {
			scores[i]++
		}
		if slices.Contains(column.Words, "name") {
			scores[i] += 0.5
		}
		if slices.Contains(keep, i) {
			scores[i] += 1000
		}
	}
	slices.SortStableFunc(all, func(x, y int) int { return cmp.Compare(scores[y], scores[x]) })
	all = all[:maxColumns]
	slices.Sort(all)
	return all
}

// addItems adds the items of the input.
func (b *builder) addItems(earlier *EarlierQuery) {
	for _, t := range b.tokens {
		b.Items = append(b.Items, Item{Words: []string{t.Lower}, Kind: kindWord})
	}
	for i := range b.cat.Tables {
		b.Items = append(b.Items, Item{Words: b.cat.Tables[i].Words, Kind: kindTable})
	}
	for _, c := range b.Columns {
		b.itemOfColumn[c] = len(b.Items)
		b.Items = append(b.Items, b.columnItem(c))
	}
	for _, v := range b.Values {
		words := catalog.ValueTokens(v.Text)
		if len(words) == 0 {
			words = []string{catalog.Fold(v.Text)}
		}
		b.Items = append(b.Items, Item{Words: words, Kind: kindValue + v.How})
	}
	if earlier == nil {
		return
	}
	for _, t := range earlier.Tokens[:min(len(earlier.Tokens), maxEarlierTokens)] {
		item := Item{Keyword: t.N + 1, Kind: kindEarlier}
		if t.Class != ir.Keyword {
			item = Item{Kind: kindEarlier + 1}
		}
		b.Items = append(b.Items, item)
		b.Earlier++
	}
}

// isPlainKey reports whether a column identifies rows and does not name them: names are
// shown, and numbers of rows are not.
func (b *builder) isPlainKey(c int) bool {
	return b.cat.Tables[b.cat.Columns[c].Table].Key == c && !b.cat.NamesRows(c)
}

func (b *builder) columnItem(c int) Item {
	column := &b.cat.Columns[c]
	role := plainColumn
	switch {
	case b.isPlainKey(c):
		role = 0
	case b.cat.IsReference(c):
		role = linkedColumn
	}
	kind := 1
	switch column.Kind {
	case catalog.Number, catalog.Clock:
		kind = 0
	case catalog.Date:
		kind = 2
	case catalog.Bool:
		kind = 3
	}
	cells, bucket := cellSample(column)
	return Item{Words: column.Words, Kind: kindColumn + kind*columnTypes + role, Cells: cells, Bucket: bucket}
}

// cellSample returns some words of a column's values and their size class.
func cellSample(c *catalog.Column) (words []string, bucket int) {
	switch {
	case c.Kind == catalog.Date:
		return nil, 7
	case c.Kind == catalog.Number:
		return nil, numberBucket(c)
	case c.Kind != catalog.Text && !c.List:
		return nil, 0
	}
	step := max(1, len(c.Values)/5)
	for i := 0; i < len(c.Values) && len(words) < MaxCells; i += step {
		for n, w := range catalog.ValueTokens(c.Values[i]) {
			if n < 2 && len(words) < MaxCells {
				words = append(words, w)
			}
		}
	}
	switch {
	case len(c.Values) <= 2:
		return words, 8
	case len(c.Values) <= 8:
		return words, 9
	}
	return words, 10
}

// numberBucket returns the size class of a column's numbers: years, shares, or by
// magnitude.
func numberBucket(c *catalog.Column) int {
	var numbers []float64
	whole := true
	for i := 0; i < len(c.Values); i += max(1, len(c.Values)/400) {
		if n, ok := catalog.ParseNumber(c.Values[i]); ok {
			numbers = append(numbers, n)
			whole = whole && n == float64(int64(n))
		}
	}
	if len(numbers) == 0 {
		return 0
	}
	slices.Sort(numbers)
	low, high := numbers[len(numbers)/20], numbers[len(numbers)-1-len(numbers)/20]
	switch {
	case low >= 1700 && high <= 2100 && whole:
		return 1
	case low >= 0 && high <= 1.0001 && !whole:
		return 2
	case high <= 10:
		return 3
	case high <= 100:
		return 4
	case high <= 10000:
		return 5
	}
	return 6
}
