package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/vectors"
)

// Limits of the vocabulary: words that occur in the questions of many databases.
const (
	maxVocabulary = 3_000
	minDatabases  = 7
)

// vocabularyOf returns the vocabulary: the keywords of the language, and the words in the
// questions of at least minDatabases databases.
func vocabularyOf(sources []source, made [][]item) []string {
	count := map[string]int{}
	for i := range sources {
		seen := map[string]bool{}
		see := func(question string) {
			for _, t := range link.Tokenize(question) {
				seen[t.Lower] = true
			}
		}
		for _, one := range sources[i].exampleItems() {
			see(one.question)
		}
		for k, one := range made[i] {
			if k%3 == 0 {
				see(one.question)
			}
		}
		for w := range seen {
			count[w]++
		}
	}
	common := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	all := []string{""}
	for _, k := range ir.Keywords {
		all = append(all, "<"+k+">")
	}
	for _, w := range common {
		if len(all) == maxVocabulary || count[w] < minDatabases {
			break
		}
		all = append(all, w)
	}
	return all
}

// writer writes records to files that each hold one array.
type writer struct {
	dir     string
	files   map[string]*os.File
	buffers map[string]*bufio.Writer
	numbers map[string]int32
	vec     *vectors.Vectors
	counts  map[[2]int32]int
	names   names
	written int
	golden  goldens
}

func newWriter(dir string, vocabulary []string, sources []source) (*writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	w := &writer{dir: dir, files: map[string]*os.File{}, buffers: map[string]*bufio.Writer{}, numbers: map[string]int32{}, vec: vectors.Load(), counts: map[[2]int32]int{}}
	for i, word := range vocabulary {
		w.numbers[word] = int32(i)
	}
	databases := make([]string, len(sources))
	for i := range sources {
		databases[i] = sources[i].name
	}
	head, err := json.Marshal(map[string]any{"databases": databases, "vocabulary": vocabulary, "keywords": ir.Keywords, "relations": link.Relations, "kinds": link.Kinds, "buckets": link.Buckets,
		"words": link.MaxWords, "cells": link.MaxCells, "dim": vectors.Dim})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "head.json"), head, 0o644); err != nil {
		return nil, err
	}
	all := make([]float32, (w.vec.Len()+1)*vectors.Dim)
	for i := range w.vec.Len() {
		w.vec.AddTo(all[(i+1)*vectors.Dim:(i+2)*vectors.Dim], int32(i))
	}
	return w, w.put("vectors.f32", all)
}

// put appends numbers to a file.
func (w *writer) put(name string, numbers any) error {
	b, ok := w.buffers[name]
	if !ok {
		f, err := os.Create(filepath.Join(w.dir, name))
		if err != nil {
			return err
		}
		b = bufio.NewWriterSize(f, 1<<20)
		w.files[name], w.buffers[name] = f, b
	}
	return binary.Write(b, binary.LittleEndian, numbers)
}

func (w *writer) write(r *record) error {
	n := len(r.in.Items)
	w.written++
	w.counts[[2]int32{r.part, r.origin}]++
	none := int32(0)
	if r.unanswerable {
		none = 1
	}
	if err := w.put("meta.i32", []int32{int32(n), int32(len(r.target)), r.part, r.origin, r.db, none}); err != nil {
		return err
	}
	vec, own, cells := make([]int32, 0, n*link.MaxWords), make([]int32, 0, n*link.MaxWords), make([]int32, 0, n*link.MaxCells)
	kinds, buckets := make([]uint8, n), make([]uint8, n)
	for i, it := range r.in.Items {
		vec, own = w.itemWords(vec, own, it.Words)
		cells = w.cellWords(cells, it.Cells)
		kinds[i], buckets[i] = uint8(it.Kind), uint8(it.Bucket)
	}
	for _, a := range []struct {
		name    string
		numbers any
	}{{"words.i32", vec}, {"own.i32", own}, {"cells.i32", cells}, {"kinds.u8", kinds}, {"buckets.u8", buckets}, {"relations.u64", r.in.Relations}, {"targets.i32", r.target}} {
		if err := w.put(a.name, a.numbers); err != nil {
			return err
		}
	}
	return nil
}

// vectorNumber returns the row of a word in the table of vectors; 0 for none.
func vectorNumber(v *vectors.Vectors, word string) int32 {
	n := v.Number(word)
	if n < 0 {
		n = v.Number(catalog.Stem(word))
	}
	return n + 1
}

func (w *writer) itemWords(vec, own []int32, words []string) (v, o []int32) {
	for k := range link.MaxWords {
		if k < len(words) {
			vec, own = append(vec, vectorNumber(w.vec, words[k])), append(own, w.numbers[words[k]])
		} else {
			vec, own = append(vec, -1), append(own, -1)
		}
	}
	return vec, own
}

func (w *writer) cellWords(cells []int32, words []string) []int32 {
	start := len(cells)
	for _, word := range words {
		if n := vectorNumber(w.vec, word); n > 0 && len(cells)-start < link.MaxCells {
			cells = append(cells, n)
		}
	}
	for len(cells)-start < link.MaxCells {
		cells = append(cells, -1)
	}
	return cells
}

func (w *writer) close() error {
	for name, b := range w.buffers {
		if err := b.Flush(); err != nil {
			return err
		}
		if err := w.files[name].Close(); err != nil {
			return err
		}
	}
	if err := w.golden.write(filepath.Join(w.dir, "golden.json.gz")); err != nil {
		return err
	}
	counts := map[string]int{}
	for k, n := range w.counts {
		counts[[]string{"train", "dev", "validation"}[k[0]]+" "+[]string{"people", "template", "elsewhere"}[k[1]]] = n
	}
	text, err := json.MarshalIndent(counts, "", " ")
	if err != nil {
		return err
	}
	_, err = os.Stderr.Write(append(text, '\n'))
	return err
}
