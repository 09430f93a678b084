package reader

import (
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/rank"
)

// Read gives the readings of a question about a catalog, the likeliest first. earlier is
// the reading of the question before, which this one may go on from; nil for none.
func Read(question string, cat *catalog.Catalog, earlier *link.EarlierQuery, now time.Time, run rank.Run) ([]rank.Reading, *link.Input, error) {
	w, err := write(question, cat, earlier, now)
	if err != nil || w == nil {
		return nil, nil, err
	}
	readings, err := rank.Readings(w.Question, w.candidates, run)
	return readings, w.Input, err
}

// written is a question with the queries that the network wrote for it.
type written struct {
	rank.Question
	candidates []net.Candidate
}

// write has the network write the likeliest queries of a question. It gives nil for a
// question without words.
func write(question string, cat *catalog.Catalog, earlier *link.EarlierQuery, now time.Time) (*written, error) {
	n, err := load()
	if err != nil {
		return nil, err
	}
	tokens := link.Tokenize(question)
	if len(tokens) == 0 {
		return nil, nil
	}
	in := link.New(tokens, cat, link.Values(tokens, cat, now), earlier, nil)
	encoded := n.Encode(in)
	asked := rank.Question{Tokens: tokens, Input: in, Catalog: cat, Now: now, Answerable: encoded.Answerable}
	return &written{asked, n.Write(encoded, cat)}, nil
}
