package reader

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/profile"
	"parley/llm/reader/rank"
)

// threshold is the least confidence of an answer.
const threshold = 0.5

// WriteQuery reads a step as a query over the datasets. What it does not understand well
// enough is an [llm.UnanswerableError].
func (r *Reader) WriteQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	question := cmp.Or(task.Instruction, task.Question)
	if strings.IndexFunc(question, isWordRune) < 0 {
		return llm.Query{}, llm.Unanswerable("The question is empty.")
	}
	plain, passages := split(task.Datasets)
	if len(plain) == 0 && len(passages) == 0 {
		return llm.Query{}, llm.Unanswerable("There is no data to look in.")
	}
	readings, err := r.readings(ctx, task, question, plain)
	if err != nil {
		return llm.Query{}, err
	}
	readings = slices.DeleteFunc(readings, func(x rank.Reading) bool { return failed(task.Failed, x.SQL) })
	if len(readings) > 0 && readings[0].Confidence >= threshold {
		best := readings[0]
		return llm.Query{SQL: best.SQL, Reasoning: "Read as: " + best.SQL, Confidence: best.Confidence}, nil
	}
	return llm.Query{}, llm.Unanswerable("The question was not understood.")
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// failed reports whether a query was tried already.
func failed(tries []llm.FailedQuery, sql string) bool {
	return slices.ContainsFunc(tries, func(f llm.FailedQuery) bool { return strings.TrimSpace(f.SQL) == sql })
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

// readings reads a question about datasets of rows, the surest reading first.
func (r *Reader) readings(ctx context.Context, task llm.QueryTask, question string, datasets []llm.Dataset) ([]rank.Reading, error) {
	if len(datasets) == 0 {
		return nil, nil
	}
	question = withHint(question, task.Hints, datasets)
	turns := turnsOf(task)
	cat, err := r.catalog(ctx, task.Data, r.relevant(question, task.Hints, turns, datasets))
	if err != nil {
		return nil, err
	}
	phrases := link.Phrases(link.Tokenize(question), cat, task.Now)
	for _, t := range turns {
		phrases = append(phrases, link.Phrases(link.Tokenize(t.question), cat, task.Now)...)
	}
	cells, err := profile.LookUp(ctx, task.Data, cat, phrases)
	if err != nil {
		return nil, err
	}
	cat = cat.WithCells(cells)
	run := try(ctx, task.Data, cat)
	alone, _, err := Read(question, cat, nil, task.Now, run)
	if err != nil || len(turns) == 0 {
		return alone, err
	}
	return r.afterTurns(task, question, cat, turns, run, alone)
}

// afterTurns reads a question with the one before it, and gives the readings of the
// surer way: after that one, or alone.
func (r *Reader) afterTurns(task llm.QueryTask, question string, cat *catalog.Catalog, turns []turn, run rank.Run, alone []rank.Reading) ([]rank.Reading, error) {
	earlier, err := earlierQuery(turns, cat, task.Now)
	if err != nil || earlier == nil {
		return alone, err
	}
	after, _, err := Read(question, cat, earlier, task.Now, run)
	if err != nil || len(after) == 0 {
		return alone, err
	}
	if len(alone) == 0 || after[0].Confidence >= advantage(link.Tokenize(question))*alone[0].Confidence {
		return after, nil
	}
	return alone, nil
}
