// Command export writes training examples as tensors for train.py: the examples of files,
// variants of them, template questions, and unanswerable questions. The inputs of the
// network are computed here, by the code of the product.
//
//	export DATA PIECES OUT
//
// DATA holds examples (*.jsonl, *.jsonl.gz) and tables (SET/DB/tables/*.csv). PIECES is the
// vocabulary of the encoder, a word piece a line.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"parley/llm/reader/catalog"
	"parley/llm/reader/train/dataset"
)

func main() {
	log.SetFlags(log.Ltime)
	if len(os.Args) != 4 {
		log.Fatal("usage: export DATA PIECES OUT")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

// source is a database with its examples.
type source struct {
	name     string
	number   int
	examples []dataset.Example
	profiles []*catalog.Profile
	cat      *catalog.Catalog
}

func run(data, vocabulary, out string) error {
	text, err := os.ReadFile(vocabulary)
	if err != nil {
		return err
	}
	sources, err := load(data)
	if err != nil {
		return err
	}
	log.Printf("%d databases", len(sources))
	w, err := newWriter(out, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), sources)
	if err != nil {
		return err
	}
	w.names = collectNames(sources)
	const chunk = 64
	for start := 0; start < len(sources); start += chunk {
		batch := sources[start:min(start+chunk, len(sources))]
		results := make([][]record, len(batch))
		parallel(len(batch), func(i int) { results[i] = w.records(&batch[i], sources) })
		for n, all := range results {
			for i := range all {
				w.golden.offer(w.written, fmt.Sprintf("%s %d", batch[n].name, i), &all[i])
				if err := w.write(&all[i]); err != nil {
					return err
				}
			}
		}
	}
	return w.close()
}

// parallel calls f with the numbers below n, on all processors.
func parallel(n int, f func(i int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range next {
				f(i)
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// load reads all examples and the catalogs of their databases.
func load(data string) ([]source, error) {
	files, err := filepath.Glob(filepath.Join(data, "*.jsonl*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	byDB := map[string][]dataset.Example{}
	for _, f := range files {
		examples, err := dataset.ReadExamples(f)
		if err != nil {
			return nil, err
		}
		for _, e := range examples {
			byDB[e.DB] = append(byDB[e.DB], e)
		}
		log.Printf("%s: %d examples", filepath.Base(f), len(examples))
	}
	// Tables without questions get template questions.
	folders, err := filepath.Glob(filepath.Join(data, "*", "*", "tables"))
	if err != nil {
		return nil, err
	}
	deeper, err := filepath.Glob(filepath.Join(data, "*", "*", "*", "tables"))
	if err != nil {
		return nil, err
	}
	for _, f := range append(folders, deeper...) {
		name, err := filepath.Rel(data, filepath.Dir(f))
		if err != nil {
			return nil, err
		}
		if _, ok := byDB[name]; !ok {
			byDB[name] = nil
		}
	}
	var sources []source
	for name, examples := range byDB {
		sources = append(sources, source{name: name, examples: examples})
	}
	slices.SortFunc(sources, func(a, b source) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	errs := make([]error, len(sources))
	parallel(len(sources), func(i int) {
		sources[i].number = i
		sources[i].cat, sources[i].profiles, errs[i] = dataset.Catalog(filepath.Join(data, sources[i].name))
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return sources, nil
}
