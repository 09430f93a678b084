package net

import (
	"os"
	"testing"
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/catalog/catalogtest"
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

func BenchmarkEncode(b *testing.B) {
	n := builtIn(b)
	in, _ := ask(benchQuestion)
	b.ReportAllocs()
	for b.Loop() {
		n.Encode(in)
	}
}

func BenchmarkDecode(b *testing.B) {
	n := builtIn(b)
	in, cat := ask(benchQuestion)
	e := n.Encode(in)
	b.ReportAllocs()
	for b.Loop() {
		n.Decode(e, cat)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		builtIn(b)
	}
}
