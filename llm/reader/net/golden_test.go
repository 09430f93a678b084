package net

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"testing"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// golden is an example with what PyTorch computes for it; train.py writes them. Tokens
// are numbers of keywords, and after these of items.
type golden struct {
	Kinds  []catalog.Kind `json:"kinds"`
	Input  *link.Input    `json:"input"`
	Target []int          `json:"target"`
	// Memory has the first four numbers of four items of the encoder's output, from the
	// first to the last; Size is the mean of the absolute numbers of all.
	Memory []float64 `json:"memory"`
	Size   float64   `json:"size"`
	// Answerable is a logit.
	Answerable float64 `json:"answerable"`
	// Logs are the log-probabilities of the tokens of Target, without a grammar.
	Logs []float64 `json:"logs"`
	// Greedy takes the likeliest token at each step, without a grammar. Gap is the least
	// difference between the logits of the likeliest and the next.
	Greedy []int   `json:"greedy"`
	Gap    float64 `json:"gap"`
}

// Tolerances: the weights are the same, but packedMatrix rounds them.
const (
	goldenTolerance = 3e-2
	goldenGap       = 1e-1
)

// TestGolden compares the network with PyTorch's, example by example.
func TestGolden(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/golden.json.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatal("no testdata/golden.json.gz: train.py writes one with each file of weights")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Weights  string   `json:"weights"`
		Examples []golden `json:"examples"`
	}
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile("../weights.bin")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(weights); hex.EncodeToString(sum[:]) != file.Weights {
		t.Fatal("testdata/golden.json.gz belongs to other weights: take both from one run of train.py")
	}
	n, err := Load(weights)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Examples) < 100 {
		t.Fatalf("%d examples", len(file.Examples))
	}
	same, compared := 0, 0
	for i := 0; i < len(file.Examples); i += goldenEvery {
		compared++
		if file.Examples[i].compare(t, i, n) {
			same++
		}
	}
	// The grammar and the search seldom find another query than the greedy one.
	if 100*same < 85*compared {
		t.Errorf("the first query is the greedy one for %d examples of %d only", same, compared)
	}
}

// compare reports whether the best query of the search is the greedy one.
func (g *golden) compare(t *testing.T, number int, n *Net) (same bool) {
	near := func(what string, at int, got float32, want float64) {
		if math.Abs(float64(got)-want) > goldenTolerance*max(1, math.Abs(want)) {
			t.Errorf("example %d, %s %d: %v, PyTorch has %v", number, what, at, got, want)
		}
	}
	e := n.Encode(g.Input)
	size := 0.0
	for _, v := range e.memory.data {
		size += math.Abs(float64(v))
	}
	near("size", 0, float32(size/float64(len(e.memory.data))), g.Size)
	for i, want := range g.Memory {
		near("memory", i, e.memory.row(i / 4 * (e.memory.rows - 1) / 3)[i%4], want)
	}
	near("answerable", 0, float32(math.Log(e.Answerable/(1-e.Answerable))), g.Answerable)
	one := n.newBeam()
	for i, id := range g.Target {
		logits := n.logits(e, one)
		near("log-probability", i, float32(logOf(logits, id)), g.Logs[i])
		one = one.with(id)
	}
	one = n.newBeam()
	for i, want := range g.Greedy {
		logits := n.logits(e, one)
		best := slices.Index(logits, slices.Max(logits))
		if best != want && g.Gap > goldenGap {
			t.Errorf("example %d, step %d: %d is likeliest, in PyTorch %d", number, i, best, want)
			return false
		}
		one = one.with(want)
	}
	return slices.Equal(g.Greedy, g.search(n, e))
}

// search returns the best query of the search, as numbers.
func (g *golden) search(n *Net, e *Encoded) []int {
	cat := &catalog.Catalog{Columns: make([]catalog.Column, len(g.Kinds))}
	for i, kind := range g.Kinds {
		cat.Columns[i].Kind = kind
	}
	candidates := n.Decode(e, cat)
	if len(candidates) == 0 {
		return nil
	}
	var ids []int
	for _, token := range candidates[0].Tokens {
		if token.Class == ir.Keyword {
			ids = append(ids, token.N)
		} else {
			ids = append(ids, len(n.Keywords)+g.Input.ItemOf(token))
		}
	}
	return append(ids, int(ir.End))
}

// newBeam is a query of which nothing is written.
func (n *Net) newBeam() *beam {
	return &beam{keyValues: make([][][]float32, len(n.decoderLayers))}
}

// logits are those of what follows, without a grammar.
func (n *Net) logits(e *Encoded, b *beam) []float32 {
	logits := n.nextLogits(e, []*beam{b}, new(scratch)).row(0)
	for i := range e.in.Question {
		logits[len(n.Keywords)+i] = float32(math.Inf(-1))
	}
	return logits
}

// with is the query with another token.
func (b *beam) with(id int) *beam {
	return &beam{ids: append(slices.Clip(b.ids), id), keyValues: slices.Clone(b.keyValues)}
}

// logOf returns the log-probability of one of some logits.
func logOf(logits []float32, id int) float64 {
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l - logits[id]))
	}
	return -math.Log(sum)
}
