package catalog

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"parley/internal/near"
)

// Limits of the index of values.
const (
	maxIndexedValue = 80
	maxValueTokens  = 12
	maxPerWord      = 400
)

// Cell is a value of a column.
type Cell struct {
	Column int
	Value  string
}

// Index finds the values of a catalog by their words.
type Index struct{ parts []indexedPart }

// indexedPart is the index of a part, with the number in the catalog of each of its
// columns; -1 for a column that is not in the catalog.
type indexedPart struct {
	*partIndex
	numbers []int
}

// partIndex finds values of a part by hashes of their words, with a few bytes per value.
// Hash collisions are removed by comparing the words.
type partIndex struct {
	columns []Column
	// byKey has values by their key, byWord the values of several words by each word.
	byKey, byWord []entry
	// singleWordKeys are the sorted keys of single-word values, to compare misspelled words
	// with.
	singleWordKeys []string
}

// entry is a value, by the hash of a text, its column and its number in the column.
type entry struct {
	hash          uint32
	column, value uint16
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.column, b.column), cmp.Compare(a.value, b.value))
}

func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

func newPartIndex(columns []Column) *partIndex {
	x := &partIndex{columns: columns}
	for i := range columns {
		column := &columns[i]
		if column.Kind == Number && column.Native || column.Kind == Date && column.Native || column.Kind == Other && !column.List {
			continue
		}
		for n, v := range column.Values {
			x.add(i, n, v)
		}
	}
	slices.SortFunc(x.byKey, compareEntries)
	slices.SortFunc(x.byWord, compareEntries)
	x.byWord = slices.Compact(x.byWord)
	slices.Sort(x.singleWordKeys)
	x.singleWordKeys = trimCapacity(slices.Compact(x.singleWordKeys))
	x.byKey, x.byWord = trimCapacity(x.byKey), trimCapacity(x.byWord)
	return x
}

// trimCapacity copies a slice without spare capacity.
func trimCapacity[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }

func (x *partIndex) add(column, n int, value string) {
	if len(value) > maxIndexedValue || IsMissing(value) {
		return
	}
	tokens := ValueTokens(value)
	if len(tokens) == 0 || len(tokens) > maxValueTokens {
		return
	}
	key := Key(tokens)
	x.byKey = append(x.byKey, entry{hashOf(key), uint16(column), uint16(n)})
	if len(tokens) == 1 {
		if len(key) >= minNearKey {
			x.singleWordKeys = append(x.singleWordKeys, key)
		}
		return
	}
	for _, w := range tokens {
		if len(w) > 2 && !StopWords[w] {
			x.byWord = append(x.byWord, entry{hashOf(w), uint16(column), uint16(n)})
		}
	}
}

func (x *partIndex) size() int {
	const one = 8
	n := one * (len(x.byKey) + len(x.byWord))
	for _, key := range x.singleWordKeys {
		n += stringSize(key)
	}
	return n
}

// find returns the entries with the hash of a text whose values fit.
func (x *partIndex) find(entries []entry, text string, fits func(value string) bool) []entry {
	hash := hashOf(text)
	at, _ := slices.BinarySearchFunc(entries, hash, func(e entry, h uint32) int { return cmp.Compare(e.hash, h) })
	var found []entry
	for ; at < len(entries) && entries[at].hash == hash && len(found) < maxPerWord; at++ {
		if fits(x.value(entries[at])) {
			found = append(found, entries[at])
		}
	}
	return found
}

func (x *partIndex) value(e entry) string { return x.columns[e.column].Values[e.value] }

func (x *partIndex) findExact(key string) []entry {
	return x.find(x.byKey, key, func(value string) bool { return Key(ValueTokens(value)) == key })
}

func (x *partIndex) findContaining(word string) []entry {
	return x.find(x.byWord, word, func(value string) bool { return slices.Contains(ValueTokens(value), word) })
}

// Key returns the key of words in the index: their stems.
func Key(words []string) string {
	if len(words) == 1 {
		return Stem(words[0])
	}
	return strings.Join(Stems(words), " ")
}

// FindExact returns the values that have exactly the words of a key.
func (x *Index) FindExact(key string) []Cell {
	return x.cells(func(p *partIndex) []entry { return p.findExact(key) })
}

// FindContaining returns the values of several words that contain a word.
func (x *Index) FindContaining(word string) []Cell {
	return x.cells(func(p *partIndex) []entry { return p.findContaining(word) })
}

// cells collects the matches of all parts, in the order of columns.
func (x *Index) cells(find func(*partIndex) []entry) []Cell {
	var all []Cell
	for _, p := range x.parts {
		for _, e := range find(p.partIndex) {
			if n := p.numbers[e.column]; n >= 0 && len(all) < maxPerWord {
				all = append(all, Cell{n, p.value(e)})
			}
		}
	}
	return all
}

// ValueTokens splits a value into folded words and the signs that distinguish values: O+
// and O- are two values.
func ValueTokens(value string) []string {
	var tokens []string
	folded := Fold(value)
	start := -1
	flush := func(end int) {
		if start >= 0 {
			tokens = append(tokens, folded[start:end])
			start = -1
		}
	}
	for i, r := range folded {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		case (r == '+' || r == '-' || r == '#' || r == '*') && start >= 0 && i+1 == len(folded):
			flush(i)
			tokens = append(tokens, string(r))
		default:
			flush(i)
		}
	}
	flush(len(folded))
	return tokens
}

// minNearKey is the minimum length of a key to compare misspelled words with.
const minNearKey = 4

// FindNear returns the single-word keys with the same first letter that are one edit away
// from a stem: see [near.IsOneEdit].
func (x *Index) FindNear(stem string) []string {
	var found []string
	if stem == "" {
		return nil
	}
	for _, p := range x.parts {
		at, _ := slices.BinarySearch(p.singleWordKeys, stem[:1])
		for ; at < len(p.singleWordKeys) && p.singleWordKeys[at][0] == stem[0]; at++ {
			if near.IsOneEdit(stem, p.singleWordKeys[at]) {
				found = append(found, p.singleWordKeys[at])
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
