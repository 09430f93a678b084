package net

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

// builtIn loads the weights of the program.
func builtIn(tb testing.TB) *Net {
	tb.Helper()
	file, err := os.ReadFile("../weights.bin")
	if err != nil {
		tb.Fatal(err)
	}
	n, err := Load(file)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// ask makes the input of a question about the shop.
func ask(question string) (*link.Input, *catalog.Catalog) {
	cat := catalogtest.Shop()
	tokens := link.Tokenize(question)
	values := link.Values(tokens, cat, time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC))
	return link.New(tokens, cat, values, nil, nil), cat
}

const benchQuestion = "What is the total amount of orders from Hamburg in 2024 by channel?"

// fastest runs f as a benchmark and reports the time of its fastest call too, which other
// programs on the machine disturb least.
func fastest(b *testing.B, f func()) time.Duration {
	b.ReportAllocs()
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Nanoseconds()), "fastest-ns/op")
	return best
}

func BenchmarkEncode(b *testing.B) {
	n := builtIn(b)
	in, _ := ask(benchQuestion)
	fastest(b, func() { n.Encode(in) })
}

func BenchmarkDecode(b *testing.B) {
	n := builtIn(b)
	in, cat := ask(benchQuestion)
	e := n.Encode(in)
	fastest(b, func() { n.Decode(e, cat) })
}

// BenchmarkLinear has the sizes of a question's layer: 24 rows, 384 inputs, 1,536 outputs.
// It runs on one processor.
func BenchmarkLinear(b *testing.B) {
	const rows, in, out = 24, 384, 1536
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		numbers := make([]float32, n)
		for i := range numbers {
			numbers[i] = float32(rng.NormFloat64())
		}
		return numbers
	}
	l := linear{packed(in, out, random(in*out)), random(out)}
	x, to, s := matrix{random(rows * in), rows, in}, newMatrix(rows, out), getScratch()
	best := instructions
	defer func() { instructions = best }()
	for i, name := range []string{"plain", "AVX2", "VNNI"} {
		if instructions = instructionSet(i); instructions > best {
			break
		}
		b.Run(name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			took := fastest(b, func() { l.add(to, x, s) })
			b.ReportMetric(rows*in*out/float64(took.Nanoseconds()), "G/s")
		})
	}
}

func BenchmarkLoad(b *testing.B) { fastest(b, func() { builtIn(b) }) }
