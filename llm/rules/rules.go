package rules

import (
	"context"
	"slices"
	"strings"

	"parley/llm"
)

// Limits of a [Rules].
const (
	// cacheBytes is about how much memory what is known of datasets may take.
	cacheBytes = 64 << 20
	// maxTables is how many datasets a question is read against: the likeliest.
	// Of many, only those that it may speak of are, and a few.
	maxTables = 12
	fewTables = 4
	// threshold is the confidence below which a question counts as not
	// understood.
	threshold = 0.55
)

// Rules does the jobs of a language model by rules. It is safe for concurrent
// use.
type Rules struct {
	cache *cache
	// threshold is the least confidence of an answer.
	threshold float64
}

var _ llm.Jobs = (*Rules)(nil)

// New makes a [Rules] that has learnt nothing yet.
func New() *Rules { return &Rules{cache: newCache(cacheBytes), threshold: threshold} }

// WriteQuery reads a step as a query over the datasets. What it does not
// understand well enough is an [llm.UnanswerableError] that names the words.
func (r *Rules) WriteQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	question := task.Instruction
	if question == "" {
		question = task.Question
	}
	tokens := tokenize(question)
	if len(tokens) == 0 {
		return llm.Query{}, llm.Unanswerable("The question is empty.")
	}
	plain, passages := split(task.Datasets)
	if len(plain) == 0 && len(passages) == 0 {
		return llm.Query{}, llm.Unanswerable("There is no data to look in.")
	}
	readings, err := r.readings(ctx, task, tokens, plain)
	if err != nil {
		return llm.Query{}, err
	}
	readings = slices.DeleteFunc(readings, func(x reading) bool { return tried(task.Failed, x.sql) })
	if len(readings) > 0 && readings[0].confidence >= r.threshold && len(readings[0].left) == 0 {
		best := readings[0]
		return llm.Query{SQL: best.sql, Reasoning: best.reasoning, Confidence: best.confidence}, nil
	}
	if len(task.Failed) == 0 && !asksToCount(tokens) {
		if q, ok, err := searchFor(ctx, task.Data, tokens, plain, passages); ok || err != nil {
			return q, err
		}
	}
	return llm.Query{}, notUnderstood(readings, tokens, plain, len(task.Failed) > 0)
}

// tried reports whether a query was tried already.
func tried(failed []llm.FailedQuery, sql string) bool {
	return slices.ContainsFunc(failed, func(f llm.FailedQuery) bool { return strings.TrimSpace(f.SQL) == sql })
}

// split tells datasets of rows from datasets of passages.
func split(datasets []llm.Dataset) (plain, passages []llm.Dataset) {
	for _, d := range datasets {
		if d.HoldsPassages() {
			passages = append(passages, d)
		} else {
			plain = append(plain, d)
		}
	}
	return plain, passages
}

// reading is one way to read a question.
type reading struct {
	sql        string
	reasoning  string
	confidence float64
	left       []string
}

// readings reads a question in the ways that make sense, the surest first.
func (r *Rules) readings(ctx context.Context, task llm.QueryTask, tokens []token, datasets []llm.Dataset) ([]reading, error) {
	if len(datasets) == 0 {
		return nil, nil
	}
	// Hints may name a dataset; they are not part of what is asked.
	tables, err := r.learn(ctx, task.Data, relevant(append(tokenize(task.Hints), tokens...), datasets))
	if err != nil {
		return nil, err
	}
	joins := newJoinGraph(tables)
	for _, t := range tokens {
		if !t.mark && !stopWords[t.lower] {
			joins.said = append(joins.said, t.lemma)
		}
	}
	var all []reading
	links := (&linker{tokens: tokens, tables: tables}).links()
	more, err := lookUp(ctx, task.Data, tokens, tables, links)
	if err != nil {
		return nil, err
	}
	if len(more) > 0 {
		links = choose(append(links, more...), len(tokens))
	}
	reader := newReader(tokens, tables, joins, links)
	reader.read()
	if x, ok := reader.finish(); ok {
		if x, err = r.check(ctx, task.Data, reader, x); err != nil {
			return nil, err
		}
		x.confidence = reader.calibrate(x.confidence)
		all = append(all, x)
		if tried(task.Failed, x.sql) {
			all = append(all, reader.again(x)...)
		}
	}
	slices.SortStableFunc(all, func(a, b reading) int {
		switch {
		case a.confidence > b.confidence:
			return -1
		case a.confidence < b.confidence:
			return 1
		}
		return 0
	})
	return all, nil
}

// finish makes a reading of what was read.
func (r *reader) finish() (reading, bool) {
	if r.q.main == nil || len(r.q.items) == 0 && !r.q.star {
		return reading{left: r.left()}, false
	}
	sql, ok := r.raw, r.raw != ""
	if !ok {
		sql, ok = (&builder{joins: r.joins}).sql(r.q)
	}
	if !ok {
		return reading{left: r.left()}, false
	}
	r.weigh()
	return reading{sql: sql, reasoning: r.explain(), confidence: r.confidence(), left: r.left()}, true
}

// learn makes known what datasets hold, from the cache where it can.
func (r *Rules) learn(ctx context.Context, data llm.Data, datasets []llm.Dataset) ([]*table, error) {
	tables := make([]*table, 0, len(datasets))
	for i, d := range datasets {
		learn := func() (*table, error) {
			t := newTable(d, i)
			if data == nil {
				return t, nil
			}
			return t, t.learn(ctx, data)
		}
		var t *table
		var err error
		if d.Version == "" {
			t, err = learn()
		} else {
			t, err = r.cache.once(ctx, cacheKey(d), learn)
		}
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// cacheKey tells versions of datasets apart.
func cacheKey(d llm.Dataset) string {
	var b strings.Builder
	b.WriteString(d.Name + "\x00" + d.Version)
	for _, c := range d.Columns {
		b.WriteString("\x00" + c.Name + "\x01" + c.Type + "\x01" + c.Description)
	}
	return b.String()
}

// relevant chooses the datasets that a question most likely speaks of, in their
// order.
func relevant(tokens []token, datasets []llm.Dataset) []llm.Dataset {
	if len(datasets) <= maxTables {
		return datasets
	}
	type scored struct {
		n     int
		score float64
	}
	all := make([]scored, len(datasets))
	for i, d := range datasets {
		all[i] = scored{i, relevance(tokens, d)}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	n := fewTables
	for n < maxTables && all[n].score > 0 {
		n++
	}
	all = all[:n]
	slices.SortFunc(all, func(a, b scored) int { return a.n - b.n })
	var chosen []llm.Dataset
	for _, s := range all {
		chosen = append(chosen, datasets[s.n])
	}
	return chosen
}

// relevance says how much of a question a dataset has words for.
func relevance(tokens []token, d llm.Dataset) float64 {
	score := 0.0
	name := nameWords(d.Name)
	texts := []string{strings.ToLower(d.Description)}
	for _, c := range d.Columns {
		texts = append(texts, strings.ToLower(c.Name), strings.ToLower(c.Description))
	}
	for _, t := range tokens {
		if t.mark || stopWords[t.lower] || len(t.lemma) < 3 {
			continue
		}
		for _, w := range name {
			score += 2 * alike(t.lemma, w)
		}
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, t.lemma) }) {
			score++
		}
	}
	return score
}
