package catalog

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
)

// Limits of the index of values.
const (
	maxIndexedValue = 80
	maxValueTokens  = 12
	maxPerWord      = 400
)

// Cell names a value of a column.
type Cell struct {
	Column int
	Value  string
}

// Index finds the values of a catalog by their words.
type Index struct{ parts []indexedPart }

// indexedPart is the index of a part, and the number in the catalog of each of its
// columns; -1 for one that the catalog does not have.
type indexedPart struct {
	*partIndex
	numbers []int
}

// partIndex finds values of a part by hashes of their words, which takes a few bytes
// for each value. Whatever a hash finds is compared with the words themselves.
type partIndex struct {
	columns []Column
	// byKey has values by all of their words, byWord by each of several.
	byKey, byWord []entry
	// singleWordKeys are the keys of one word that misspelled words are compared with, sorted.
	singleWordKeys []string
}

// entry is a value, by its column and number there.
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
		if column.Kind == Number && column.Native || column.Kind == Date && column.Native || column.Kind == Other {
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

// trimCapacity copies a list to one that has no room for more.
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

// find gives the entries of a text whose values fit.
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

// Key is the form under which words are found: their stems.
func Key(words []string) string {
	if len(words) == 1 {
		return Stem(words[0])
	}
	return strings.Join(Stems(words), " ")
}

// FindExact finds the values that consist of just these words.
func (x *Index) FindExact(key string) []Cell {
	return x.cells(func(p *partIndex) []entry { return p.findExact(key) })
}

// FindContaining finds the longer values that a word is part of.
func (x *Index) FindContaining(word string) []Cell {
	return x.cells(func(p *partIndex) []entry { return p.findContaining(word) })
}

// cells gives what all parts have, in the order of columns.
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

// ValueTokens cuts a value into folded words and the signs that tell values apart:
// O+ and O- are two values.
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

// minNearKey is the fewest bytes of a key that a misspelled word may stand for.
const minNearKey = 4

// FindNear finds the keys of one word that are one changed, added, left out or swapped
// letter away from a stem, and begin with the same letter.
func (x *Index) FindNear(stem string) []string {
	var found []string
	if stem == "" {
		return nil
	}
	for _, p := range x.parts {
		at, _ := slices.BinarySearch(p.singleWordKeys, stem[:1])
		for ; at < len(p.singleWordKeys) && p.singleWordKeys[at][0] == stem[0]; at++ {
			if IsOneEdit(stem, p.singleWordKeys[at]) {
				found = append(found, p.singleWordKeys[at])
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// IsOneEdit reports whether one changed, added, left out or swapped letter makes a of b.
func IsOneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
