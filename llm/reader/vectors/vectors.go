// Package vectors has word vectors: 40,000 English words with 100 dimensions each, in an
// embedded file. Words of similar use have similar vectors. Thresholds of similarity are
// left to its callers.
package vectors

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// Dim is the length of a vector.
const Dim = 100

//go:embed vectors.bin
var file []byte

// Vectors are the vectors of some words, read from a file as they are needed. The
// file has, in little endian: "PRLV", the number of words and the dimension; where
// each word begins, and where the last ends (uint32); a float32 for each word that
// makes its numbers floats, and one that makes its vector one long; its rank by how
// often it is used (uint16); the words, sorted; and an int8 for each dimension of each.
type Vectors struct {
	n                          int
	offsets, units             []byte
	ranks, words, coefficients []byte
}

// Load returns the embedded vectors.
var Load = sync.OnceValue(func() *Vectors {
	v, err := parse(file)
	if err != nil {
		panic(err)
	}
	return v
})

// maxWords limits a file.
const maxWords = 1 << 16

func parse(file []byte) (*Vectors, error) {
	const head = 12
	if len(file) < head || string(file[:4]) != "PRLV" {
		return nil, errors.New("not a file of vectors")
	}
	n, dim := binary.LittleEndian.Uint32(file[4:]), binary.LittleEndian.Uint32(file[8:])
	if dim != Dim || n == 0 || n > maxWords {
		return nil, fmt.Errorf("%d vectors of %d dimensions", n, dim)
	}
	v := &Vectors{n: int(n)}
	rest := file[head:]
	take := func(size int) []byte {
		size = min(size, len(rest))
		part := rest[:size]
		rest = rest[size:]
		return part
	}
	v.offsets, _, v.units, v.ranks = take(4*v.n+4), take(4*v.n), take(4*v.n), take(2*v.n)
	if len(v.ranks) < 2*v.n {
		return nil, errors.New("the file of vectors is cut off")
	}
	v.words = take(int(v.offset(v.n)))
	v.coefficients = take(v.n * Dim)
	if len(v.words) != int(v.offset(v.n)) || len(v.coefficients) != v.n*Dim || len(rest) > 0 {
		return nil, errors.New("the file of vectors has another length than it says")
	}
	for i := range v.n {
		if v.offset(i) > v.offset(i+1) || i > 0 && v.word(i-1) >= v.word(i) {
			return nil, errors.New("the words of the vectors are not sorted")
		}
	}
	return v, nil
}

func (v *Vectors) offset(i int) uint32 { return binary.LittleEndian.Uint32(v.offsets[4*i:]) }

func (v *Vectors) word(i int) string { return string(v.words[v.offset(i):v.offset(i+1)]) }

func (v *Vectors) unit(i int32) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(v.units[4*i:]))
}

func (v *Vectors) row(i int32) []byte { return v.coefficients[int(i)*Dim : (int(i)+1)*Dim] }

// Len is how many words there are.
func (v *Vectors) Len() int { return v.n }

// Number returns the number of a word; -1 for none.
func (v *Vectors) Number(word string) int32 {
	low, high := 0, v.n
	for low < high {
		middle := (low + high) / 2
		if string(v.words[v.offset(middle):v.offset(middle+1)]) < word {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < v.n && string(v.words[v.offset(low):v.offset(low+1)]) == word {
		return int32(low)
	}
	return -1
}

// Similarity returns the cosine of two words' vectors; 0 if one has none.
func (v *Vectors) Similarity(a, b string) float32 { return v.Cosine(v.Number(a), v.Number(b)) }

// Cosine returns the cosine of the vectors of two words by their numbers; 0 if one is -1.
func (v *Vectors) Cosine(i, j int32) float32 {
	if i < 0 || j < 0 {
		return 0
	}
	sum := int32(0)
	x, y := v.row(i), v.row(j)
	for k := range x {
		sum += int32(int8(x[k])) * int32(int8(y[k]))
	}
	return float32(sum) * v.unit(i) * v.unit(j)
}

// commonWords is the number of most frequent words that Near compares.
const commonWords = 20_000

// Near returns at most n common words that are most similar to a word, the nearest first,
// with at least the given similarity.
func (v *Vectors) Near(word string, n int, least float32) []string {
	at := v.Number(word)
	if at < 0 {
		return nil
	}
	type option struct {
		word       string
		similarity float32
	}
	var options []option
	for i := range int32(v.n) {
		if i == at || binary.LittleEndian.Uint16(v.ranks[2*i:]) >= commonWords {
			continue
		}
		if s := v.Cosine(i, at); s >= least {
			options = append(options, option{v.word(int(i)), s})
		}
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), strings.Compare(a.word, b.word))
	})
	var words []string
	for _, o := range options[:min(n, len(options))] {
		words = append(words, o.word)
	}
	return words
}
