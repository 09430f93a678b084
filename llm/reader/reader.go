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

// Read gives the readings of a question about a catalog, the likeliest first. earlier is
// the reading of the question before, which this one may go on from; nil for none.
func Read(question string, cat *catalog.Catalog, earlier *link.EarlierQuery, now time.Time, run rank.Run) ([]rank.Reading, *link.Input, error) {
	n, err := load()
	if err != nil {
		return nil, nil, err
	}
	tokens := link.Tokenize(question)
	if len(tokens) == 0 {
		return nil, nil, nil
	}
	in := link.New(tokens, cat, link.Values(tokens, cat, now), earlier, nil)
	encoded := n.Encode(in)
	asked := rank.Question{Tokens: tokens, Input: in, Catalog: cat, Now: now, Answerable: encoded.Answerable}
	readings, err := rank.Readings(asked, n.Write(encoded, cat), run)
	return readings, in, err
}
