package net

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// languageTensors calls add with each tensor of a language encoder.
func languageTensors(h languageHeader, pieces int, add func(name string, shape ...int)) {
	linear := func(name string, in, out int) { add(name+".weight", out, in); add(name+".bias", out) }
	norm := func(name string) { add(name+".weight", h.D); add(name+".bias", h.D) }
	add("language.piece.weight", pieces, h.D)
	add("language.place.weight", maxPieces, h.D)
	norm("language.norm")
	for i := range h.Layers {
		at := fmt.Sprintf("language.layers.%d.", i)
		linear(at+"qkv", h.D, 3*h.D)
		linear(at+"out", h.D, h.D)
		linear(at+"up", h.D, 4*h.D)
		linear(at+"down", 4*h.D, h.D)
		norm(at + "norm1")
		norm(at + "norm2")
	}
}

// newLanguage returns a language encoder of int8 numbers, by a generator of top bits: the
// one of testdata/language.py for the golden file.
func newLanguage(tb testing.TB, h languageHeader, pieces int, next func() uint64) *language {
	tb.Helper()
	l := &loader{tensors: map[string]tensor{}}
	languageTensors(h, pieces, func(name string, shape ...int) {
		size, scale, isNorm := 1, float32(0.005), false
		for _, d := range shape {
			size *= d
		}
		switch weight := strings.HasSuffix(name, ".weight"); {
		case weight && strings.Contains(name, "norm"):
			scale, isNorm = 0.01, true
		case weight && strings.Contains(name, "layers"):
			scale = 0.003
		case weight:
			scale = 0.01
		}
		t := tensor{shape: shape, rows: shape[0], width: size / shape[0]}
		for range t.rows {
			t.scales = binary.LittleEndian.AppendUint32(t.scales, math.Float32bits(scale))
		}
		for range size {
			if top := next(); isNorm {
				t.data = append(t.data, byte(80+top%40))
			} else {
				t.data = append(t.data, byte(int8(int(top%255)-127)))
			}
		}
		l.tensors[name] = t
	})
	n := l.language(h, pieces)
	if l.err != nil {
		tb.Fatal(l.err)
	}
	return n
}

func smallLanguage(tb testing.TB) *language {
	state := uint64(1)
	return newLanguage(tb, languageHeader{D: 32, Heads: 4, Layers: 2}, 50, func() uint64 {
		state = state*6364136223846793005 + 1442695040888963407
		return state >> 40
	})
}

type languageGolden struct {
	Pieces []int32 `json:"pieces"`
	// Last is the last row, and Size the mean of the absolute numbers of all.
	Last []float64 `json:"last"`
	Size float64   `json:"size"`
}

// goldenSequences reads what numpy computes for sequences: testdata/language.py writes it.
func goldenSequences(t *testing.T) (all []languageGolden, sequences [][]int32) {
	t.Helper()
	file, err := os.ReadFile("testdata/language.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		sequences = append(sequences, g.Pieces)
	}
	return all, sequences
}

// TestLanguageGolden compares the encoder with numpy's. The weights are the same; inputs
// are rounded.
func TestLanguageGolden(t *testing.T) {
	t.Parallel()
	const tolerance = 2e-3
	all, sequences := goldenSequences(t)
	worst := 0.0
	for i, x := range smallLanguage(t).encode(sequences) {
		want := &all[i]
		if x.rows != min(len(want.Pieces), maxPieces) {
			t.Fatalf("%d rows for %d pieces", x.rows, len(want.Pieces))
		}
		size := 0.0
		for _, v := range x.data {
			size += math.Abs(float64(v)) / float64(len(x.data))
		}
		worst = max(worst, math.Abs(size-want.Size))
		for k, v := range x.row(x.rows - 1) {
			worst = max(worst, math.Abs(float64(v)-want.Last[k]))
		}
	}
	if worst > tolerance || math.IsNaN(worst) {
		t.Errorf("the largest difference is %v", worst)
	}
}

// TestLanguageEqual encodes sequences with each set of instructions, on one and on several
// processors, alone and with others: the results are the same to the last bit.
func TestLanguageEqual(t *testing.T) {
	l := smallLanguage(t)
	_, sequences := goldenSequences(t)
	sequences = append(sequences, nil)
	for range 2 {
		sequences = append(sequences, sequences...)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var want []matrix
	withEach(t, func(t *testing.T) {
		for _, processors := range []int{1, 2, 4} {
			runtime.GOMAXPROCS(processors)
			got := l.encode(sequences)
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("another result on %d processors", processors)
			}
		}
		for i, sequence := range sequences {
			if alone := l.encode([][]int32{sequence})[0]; !slices.Equal(alone.data, want[i].data) {
				t.Errorf("sequence %d is another one alone", i)
			}
		}
	})
	if len(l.encode(nil)) != 0 {
		t.Error("rows for no sequence")
	}
}

// TestLanguageHeader loads weights whose language encoder does not fit.
func TestLanguageHeader(t *testing.T) {
	t.Parallel()
	good := smallWeights()
	for name, change := range map[string]func(language map[string]any){
		"width":      func(l map[string]any) { l["d"] = 16 },
		"huge width": func(l map[string]any) { l["d"] = 1 << 40 },
		"heads":      func(l map[string]any) { l["heads"] = 3 },
		"no heads":   func(l map[string]any) { l["heads"] = 0 },
		"layers":     func(l map[string]any) { l["layers"] = 2 },
		"no layers":  func(l map[string]any) { l["layers"] = 0 },
	} {
		file := otherHead(good, func(h map[string]any) { change(h["language"].(map[string]any)) })
		if _, err := Load(file); err == nil {
			t.Errorf("%s was loaded", name)
		}
	}
}

// BenchmarkLanguage has the sizes of all-MiniLM-L6-v2.
func BenchmarkLanguage(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const pieces = 30522
	l := newLanguage(b, languageHeader{D: 384, Heads: 12, Layers: 6}, pieces, rng.Uint64)
	for _, size := range []struct {
		name          string
		count, length int
	}{{"question of 14", 1, 14}, {"question of 24", 1, 24}, {"question of 128", 1, 128}, {"300 names of 4", 300, 4}} {
		sequences := make([][]int32, size.count)
		for i := range sequences {
			for range size.length {
				sequences[i] = append(sequences[i], rng.Int32N(pieces))
			}
		}
		b.Run(size.name, func(b *testing.B) { fastest(b, func() { l.encode(sequences) }) })
	}
}
