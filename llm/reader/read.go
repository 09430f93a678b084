package reader

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/rank"
)

// candidateSet is a question with the queries that the network generated for it.
type candidateSet struct {
	rank.Question
	candidates []net.Candidate
}

// generate runs the network on a question. It returns nil for a question without words.
func generate(question string, cat *catalog.Catalog, earlier *link.EarlierQuery, now time.Time) (*candidateSet, error) {
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
	return &candidateSet{asked, n.Decode(encoded, cat)}, nil
}

// source is the data that the questions of one job are about.
type source struct {
	*catalog.Catalog
	// key identifies the versions of the datasets; "" if one has no version.
	key    string
	trials trialRunner
	now    time.Time
}

// readResult has the readings of a question and the values that the question names.
type readResult struct {
	readings []rank.Reading
	values   []link.ValueMatch
}

// read returns the readings of a question, from the cache if possible: the same question
// about the same data on the same day has the same readings.
func (r *Reader) read(ctx context.Context, question string, s *source, earlier *link.EarlierQuery) (readResult, error) {
	key := s.keyOf(question, earlier)
	if known, ok := r.recent.Get(key); ok {
		return known, nil
	}
	w, err := r.generate(ctx, question, s, earlier)
	if err != nil || w == nil {
		return readResult{}, err
	}
	all, err := rank.Readings(w.Question, w.candidates, func(sql string) (rank.Result, bool, error) { return s.trials.run(ctx, sql) })
	if err != nil {
		return readResult{}, err
	}
	result := readResult{all, w.Input.Values}
	if s.key != "" && !s.trials.timedOut {
		r.recent.Put(key, result, result.size())
	}
	return result, nil
}

// generate calls [generate] when a slot is free. More at a time would take longer and use
// more memory.
func (r *Reader) generate(ctx context.Context, question string, s *source, earlier *link.EarlierQuery) (*candidateSet, error) {
	release, err := r.slots.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return generate(question, s.Catalog, earlier, s.now)
}

func (s *source) keyOf(question string, earlier *link.EarlierQuery) [sha256.Size]byte {
	text := fmt.Sprintf("%s %s %q", s.key, s.now.Format(time.DateOnly), question)
	if earlier != nil {
		text += fmt.Sprintf(" %s %+v", ir.Text(earlier.Tokens), earlier.Values)
	}
	return sha256.Sum256([]byte(text))
}

// size estimates the memory of a result in bytes.
func (r readResult) size() int {
	const reading, token, value, cell = 2048, 16, 256, 64
	n := reading
	for i := range r.readings {
		n += reading + 2*len(r.readings[i].SQL) + token*len(r.readings[i].Tokens)
	}
	for _, v := range r.values {
		n += value
		for _, cells := range v.Cells {
			for _, c := range cells {
				n += cell + len(c)
			}
		}
	}
	return n
}
