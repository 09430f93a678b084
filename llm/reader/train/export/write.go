package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/pieces"
)

// writer writes records to files that each hold one array.
type writer struct {
	dir     string
	files   map[string]*os.File
	buffers map[string]*bufio.Writer
	pieces  *pieces.Vocabulary
	// nameNumbers has the numbers of the names that were written, by their pieces.
	nameNumbers map[string]int32
	counts      map[[2]int32]int
	names       names
	written     int
	golden      goldens
}

func newWriter(dir string, vocabulary []string, sources []source) (*writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	v, err := pieces.New(vocabulary)
	if err != nil {
		return nil, err
	}
	w := &writer{dir: dir, files: map[string]*os.File{}, buffers: map[string]*bufio.Writer{}, pieces: v, nameNumbers: map[string]int32{}, counts: map[[2]int32]int{}}
	databases := make([]string, len(sources))
	for i := range sources {
		databases[i] = sources[i].name
	}
	head, err := json.Marshal(map[string]any{"databases": databases, "pieces": vocabulary, "keywords": ir.Keywords, "relations": link.Relations, "kinds": link.Kinds, "buckets": link.Buckets, "bag": net.MaxBag})
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(filepath.Join(dir, "head.json"), head, 0o644)
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
	p := r.pieces
	if err := w.put("meta.i32", []int32{int32(n), int32(len(r.target)), r.part, r.origin, r.db, none, int32(len(p.Question))}); err != nil {
		return err
	}
	words, names, bags := make([]int16, len(p.Words)), make([]int32, n), make([]uint16, 0, n*net.MaxBag)
	for i, item := range p.Words {
		words[i] = int16(item)
	}
	kinds, buckets, keywords := make([]uint8, n), make([]uint8, n), make([]uint8, n)
	for i, it := range r.in.Items {
		kinds[i], buckets[i], keywords[i] = uint8(it.Kind), uint8(it.Bucket), uint8(it.Keyword)
		bags = append(bags, short(p.Bags[i])...)
		bags = append(bags, make([]uint16, net.MaxBag-len(p.Bags[i]))...)
		var err error
		if names[i], err = w.nameNumber(p.Names[i]); err != nil {
			return err
		}
	}
	for _, a := range []struct {
		name    string
		numbers any
	}{{"question.u16", short(p.Question)}, {"words.i16", words}, {"names.i32", names}, {"bags.u16", bags}, {"keywords.u8", keywords}, {"kinds.u8", kinds}, {"buckets.u8", buckets},
		{"relations.u64", r.in.Relations}, {"targets.i32", r.target}} {
		if err := w.put(a.name, a.numbers); err != nil {
			return err
		}
	}
	return nil
}

// nameNumber returns the number of a name, and writes its pieces the first time; -1 for no
// name.
func (w *writer) nameNumber(name []int32) (int32, error) {
	if name == nil {
		return -1, nil
	}
	key := fmt.Sprint(name)
	number, ok := w.nameNumbers[key]
	if !ok {
		number = int32(len(w.nameNumbers))
		w.nameNumbers[key] = number
		if err := cmp.Or(w.put("name_lengths.i32", []int32{int32(len(name))}), w.put("name_pieces.u16", short(name))); err != nil {
			return 0, err
		}
	}
	return number, nil
}

// short converts the numbers of pieces.
func short(numbers []int32) []uint16 {
	all := make([]uint16, len(numbers))
	for i, n := range numbers {
		all[i] = uint16(n)
	}
	return all
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
