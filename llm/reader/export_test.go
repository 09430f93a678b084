package reader

import (
	"context"
	"time"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/rank"
)

// Read returns the readings of a question about a catalog, the likeliest first. earlier is
// the reading of the question before, which this one may go on from; nil for none.
func Read(question string, cat *catalog.Catalog, earlier *link.EarlierQuery, now time.Time, run rank.Run) ([]rank.Reading, *link.Input, error) {
	w, err := generate(question, cat, earlier, now)
	if err != nil || w == nil {
		return nil, nil, err
	}
	readings, err := rank.Readings(w.Question, w.candidates, run)
	return readings, w.Input, err
}

// FollowUp reports whether a question is more likely one that goes on from the one before.
func FollowUp(question string) bool { return followUpFactor(link.Tokenize(question)) < factorUnclear }

// Relevant names the datasets that a question is read against.
func Relevant(r *Reader, question string, datasets []llm.Dataset, links ...llm.Link) []string {
	var names []string
	for _, d := range r.selectDatasets(question, llm.Task{Links: links}, nil, datasets) {
		names = append(names, d.Name)
	}
	return names
}

// Trials returns the way in which a job tries queries out.
func Trials(ctx context.Context, data llm.Data) rank.Run {
	t := &trialRunner{data: data, cat: catalog.Join(nil, nil), remaining: maxTrialsTime}
	return func(sql string) (rank.Result, bool, error) { return t.run(ctx, sql) }
}
