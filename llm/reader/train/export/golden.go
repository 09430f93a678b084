package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/train/dataset"
)

// goldenExamples is the number of examples on which the network in Go is compared with
// PyTorch.
const goldenExamples = 200

// goldens are the inputs of these examples. train.py adds the outputs of the trained
// network.
type goldens []goldenExample

type goldenExample struct {
	// Example is the number among all examples.
	Example int `json:"example"`
	// Kinds are those of the catalog's columns.
	Kinds  []catalog.Kind `json:"kinds"`
	Input  *link.Input    `json:"input"`
	Target []int32        `json:"target"`
	order  uint64
}

// offer adds an example if the hash of its name is among the smallest. Only this project's
// own questions are used, because the file is published.
func (g *goldens) offer(number int, name string, r *record) {
	if !strings.HasPrefix(name, "own/") || r.part == parts[dataset.Validation] || r.unanswerable {
		return
	}
	e := goldenExample{Example: number, Input: r.in, Target: r.target, order: seedOf(name)}
	for i := range r.cat.Columns {
		e.Kinds = append(e.Kinds, r.cat.Columns[i].Kind)
	}
	at, _ := slices.BinarySearchFunc(*g, e, func(a, b goldenExample) int { return cmp.Compare(a.order, b.order) })
	*g = slices.Insert(*g, at, e)
	*g = (*g)[:min(len(*g), goldenExamples)]
}

func (g goldens) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	if err := json.NewEncoder(z).Encode(g); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}
