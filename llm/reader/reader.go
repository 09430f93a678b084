// Package reader reads questions into queries with a small network that was trained
// for it: no language model, no network access, the same query for the same question
// every time.
//
// A question goes through these packages: catalog says what the tables hold, link
// finds what the words have to do with it, net writes the likeliest queries in the
// language of ir under its grammar, and rank runs them and chooses. train has what the
// network was trained with.
//
// Nothing uses it yet: llm/rules still does the jobs of a model.
package reader

import (
	_ "embed"
	"sync"
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/rank"
)

//go:embed weights.bin
var weights []byte

// load reads the weights, once.
var load = sync.OnceValues(func() (*net.Net, error) { return net.Load(weights) })

// Read gives the readings of a question about a catalog, the likeliest first, and how
// likely it is that the tables answer it at all. run runs a query and says false for
// one that fails.
func Read(question string, cat *catalog.Catalog, now time.Time, run func(sql string) (rank.Result, bool, error)) ([]rank.Reading, float64, error) {
	n, err := load()
	if err != nil {
		return nil, 0, err
	}
	tokens := link.Tokenize(question)
	if len(tokens) == 0 {
		return nil, 0, nil
	}
	in := link.New(tokens, cat, link.Values(tokens, cat, now), nil, nil)
	encoded := n.Encode(in)
	readings, err := rank.Readings(n.Write(encoded, cat), in.IRValues(), cat, now, run)
	return readings, encoded.Answerable, err
}
