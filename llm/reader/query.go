package reader

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/rank"
)

// ambiguousShare is the part of the best reading's share that a second one needs for the
// question to be ambiguous.
const ambiguousShare = 0.6

// minEmptyProbability is the network's probability from which a refusal names a reading
// without rows.
const minEmptyProbability = 0.6

// maxOthers limits the readings that are offered with a likely answer.
const maxOthers = 2

// WriteQuery translates a step to a query over the datasets, or to a search for passages of
// text, whose confidence is not known. Below the least confidence of the task, it returns an
// [llm.UnanswerableError] that names the words it did not understand, and questions that can be
// asked; if two readings are about equally likely, a query with both. A likely query has other
// readings to choose from.
func (r *Reader) WriteQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	q, err := r.writeQuery(ctx, task)
	refused, ok := errors.AsType[*llm.UnanswerableError](err)
	if !ok || len(refused.Suggestions) > 0 {
		return q, err
	}
	examples, err := r.exampleQuestions(ctx, task.Task, cmp.Or(task.Instruction, task.Question))
	if err != nil {
		return q, err
	}
	return q, dialog.WithExamples(refused, examples)
}

func (r *Reader) writeQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	question := cmp.Or(task.Instruction, task.Question)
	if strings.IndexFunc(question, isWordRune) < 0 {
		return llm.Query{}, dialog.EmptyQuestion()
	}
	rows, passages := splitDatasets(task.Datasets)
	if len(rows) == 0 && len(passages) == 0 {
		return llm.Query{}, dialog.NoData()
	}
	tokens, turns := link.Tokenize(question), earlierTurns(task)
	if err := dialog.NoQuestion(tokens, len(turns) == 0); err != nil {
		return llm.Query{}, err
	}
	if len(turns) > 0 && followUpFactor(tokens) == factorFollowUp {
		question = link.WithYear(question, questionsOf(turns), task.Now)
		tokens = link.Tokenize(question)
	}
	if dialog.AsksOverview(tokens, func(stem string) bool { return r.isName(stem, task.Datasets) }) {
		return r.overview(ctx, task, rows, passages)
	}
	language := dialog.Language(tokens)
	switch {
	case dialog.IsReply(tokens):
		return llm.Query{}, dialog.ReplyOnly()
	case !link.FitsLimit(question):
		return llm.Query{}, dialog.TooLong(link.MaxTokens)
	case language != "" && len(passages) == 0:
		return llm.Query{}, dialog.OtherLanguage(language)
	case len(dialog.Steps(question)) > 1:
		return llm.Query{}, dialog.SeveralQuestions()
	}
	if len(turns) == 0 && dialog.HasBackReference(tokens) {
		return llm.Query{}, dialog.NoPreviousQuestion()
	}
	asked, isAverage := groupsQuestion(question, rows)
	hinted := withHint(asked, task.Hints, rows)
	result, err := r.interpret(ctx, task, hinted, turns, rows, nil)
	if mixed := result.mixedParts(ctx, task.Task); err == nil && len(mixed) > 0 {
		result, err = r.interpret(ctx, task, hinted, turns, rows, mixed)
	}
	if err != nil {
		return llm.Query{}, err
	}
	result.numbers = locale.NumbersFor(ctx)
	result.addColumns()
	result.readings = slices.DeleteFunc(result.readings, func(x rank.Reading) bool { return isFailedQuery(task.Failed, x.SQL) })
	minConfidence := llm.SureConfidence
	if task.MinConfidence != nil {
		minConfidence = *task.MinConfidence
	}
	isAnswer := language == "" && result.isReadable() && result.readings[0].Confidence >= minConfidence
	if isAnswer && minConfidence > 0 && !rank.IsSure(result.readings[0].Confidence) {
		// A misspelled name is corrected rather than left out.
		questions, _, err := r.corrections(ctx, result.source, question, result.readings[0].Unread)
		if err != nil {
			return llm.Query{}, err
		}
		isAnswer = len(questions) == 0
	}
	if isAverage {
		if q, ok := result.averageQuery(); ok && isAnswer {
			return q, nil
		}
		return llm.Query{}, dialog.NoGroups(asked)
	}
	// Passages may have the answer rather than a likely reading.
	if isAnswer && (len(passages) == 0 || rank.IsSure(result.readings[0].Confidence) && len(result.readings[0].Unread) == 0) {
		return result.withTies(ctx, result.query(question, isAnswer))
	}
	if len(task.Failed) == 0 {
		if q, ok, err := dialog.SearchByMeaning(ctx, task.Data, r.embed(ctx), tokens, rows, passages, isAnswer); ok || err != nil {
			return q, err
		}
	}
	switch {
	case isAnswer, language == "" && result.alternative() != nil:
		return result.withTies(ctx, result.query(question, isAnswer))
	case language != "":
		return llm.Query{}, dialog.OtherLanguage(language)
	}
	if d := r.emptyDataset(tokens, rows); d != "" {
		return llm.Query{}, dialog.NoRows(d)
	}
	return llm.Query{}, r.refusal(ctx, &result, question)
}

// emptyDataset returns the name of a dataset without rows that a question names; "" for
// none.
func (r *Reader) emptyDataset(tokens []link.Token, datasets []llm.Dataset) string {
	for _, d := range datasets {
		words := r.namesOf(d).table
		isNamed := func(word string) bool {
			return slices.ContainsFunc(tokens, func(t link.Token) bool { return t.Stem == catalog.Stem(word) })
		}
		if d.Rows == 0 && len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !isNamed(word) }) {
			return d.Name
		}
	}
	return ""
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isFailedQuery reports whether a query failed before.
func isFailedQuery(tries []llm.FailedQuery, sql string) bool {
	return slices.ContainsFunc(tries, func(f llm.FailedQuery) bool { return strings.TrimSpace(f.SQL) == sql })
}

// splitDatasets separates datasets of rows from datasets of passages.
func splitDatasets(datasets []llm.Dataset) (rows, passages []llm.Dataset) {
	for _, d := range datasets {
		if d.HoldsPassages() {
			passages = append(passages, d)
		} else {
			rows = append(rows, d)
		}
	}
	return rows, passages
}

// interpretation has the readings of a question.
type interpretation struct {
	// readings are sorted by confidence, the highest first.
	readings []rank.Reading
	source   *source
	// values are those that the question names.
	values []link.ValueMatch
	// followUp says that the readings depend on the previous question.
	followUp bool
	// numbers are those of the asker.
	numbers locale.Numbers
}

// isReadable reports whether there is a reading, and its columns have what it computes.
func (f *interpretation) isReadable() bool {
	return len(f.readings) > 0 && f.readings[0].Unreadable < 0
}

// query returns the best reading of a question as a query. One that is no answer has another
// reading that is about as likely.
func (f *interpretation) query(question string, isAnswer bool) llm.Query {
	best := &f.readings[0]
	words := "as: "
	if f.followUp {
		words = "with the question before as: "
	}
	q := llm.Query{SQL: best.SQL, Measure: best.Measure, Reasoning: f.readAs(words) + f.describeJoins(best) + f.describeParts(best) + dialog.Unused(best.Unused()), Confidence: best.Confidence, Unused: best.Unused()}
	if isAnswer {
		q.Readings, q.Others = f.sameSchemaReadings(question), f.others()
	} else {
		other := f.alternative()
		q.Readings = []llm.Reading{f.option(best), f.option(other)}
	}
	return q
}

// readAs says how the best reading was read: the words are those before its description.
func (f *interpretation) readAs(words string) string {
	verb := "Read "
	if !rank.IsSure(f.readings[0].Confidence) {
		verb = "I read this "
	}
	return verb + words + f.describe(&f.readings[0]) + "."
}

// others returns readings to choose from if the best one is only likely. They differ in words.
func (f *interpretation) others() []llm.Reading {
	if rank.IsSure(f.readings[0].Confidence) {
		return nil
	}
	var found []llm.Reading
	known := []string{f.describe(&f.readings[0])}
	for i := range f.readings {
		x := &f.readings[i]
		if option := f.option(x); len(found) < maxOthers && !x.Empty && x.Unreadable < 0 && !slices.Contains(known, option.Words) {
			found, known = append(found, option), append(known, option.Words)
		}
	}
	return found
}

// option returns a reading to choose.
func (f *interpretation) option(x *rank.Reading) llm.Reading {
	return llm.Reading{SQL: x.SQL, Measure: x.Measure, Words: f.describe(x)}
}

// alternative returns a reading that is about as likely as the best one; nil for none.
func (f *interpretation) alternative() *rank.Reading {
	if i := rank.Alternative(f.readings, f.source.Catalog); i > 0 {
		return &f.readings[i]
	}
	return nil
}

// describe describes a reading in words.
func (f *interpretation) describe(x *rank.Reading) string {
	return ir.Describe(x.Query, f.source.Catalog, f.numbers)
}

// describeJoins names the columns on which a reading joins tables; "" for a single table.
func (f *interpretation) describeJoins(x *rank.Reading) string {
	_, links, err := ir.Tables(x.Query, f.source.Catalog)
	if err != nil || len(links) == 0 {
		return ""
	}
	var pairs []string
	for _, l := range links {
		for _, pair := range l.Pairs() {
			pairs = append(pairs, f.columnName(pair[0])+" = "+f.columnName(pair[1]))
		}
	}
	return " Joined by " + strings.Join(pairs, " and ") + "."
}

// describeParts names the datasets whose rows a reading combines; "" for none.
func (f *interpretation) describeParts(x *rank.Reading) string {
	tables, _, err := ir.Tables(x.Query, f.source.Catalog)
	if err != nil {
		return ""
	}
	var parts []string
	for _, t := range tables {
		parts = append(parts, f.source.Tables[t].Parts...)
	}
	return dialog.Combined(parts)
}

// columnName returns the name of a column with its table.
func (f *interpretation) columnName(n int) string {
	c := &f.source.Columns[n]
	return f.source.Tables[c.Table].Name + "." + c.Name
}

// refusal returns the error of a question without an answer: there are no rows, two
// readings are about equally likely, or words are not understood.
func (r *Reader) refusal(ctx context.Context, f *interpretation, question string) error {
	var unread []string
	guess := ""
	if len(f.readings) > 0 {
		if c := f.readings[0].Unreadable; c >= 0 {
			return dialog.Unreadable(&f.source.Columns[c], f.source.Tables[f.source.Columns[c].Table].Name)
		}
		likeliest := slices.MaxFunc(f.readings, func(a, b rank.Reading) int { return cmp.Compare(a.Probability, b.Probability) })
		if likeliest.Empty && len(likeliest.Unread) == 0 && likeliest.Probability >= minEmptyProbability {
			return dialog.NothingFound(f.describe(&likeliest))
		}
		unread = f.readings[0].Unused()
		// A guess without any word of the question would only be odd.
		if words := f.describe(&f.readings[0]); dialog.SharesWord(link.Tokenize(question), words) {
			guess = words
		}
		if other := f.otherGuess(); guess != "" && other != nil {
			return dialog.Ambiguous(guess, f.describe(other), f.asQuestion(&f.readings[0]), f.asQuestion(other))
		}
	}
	meant, names, err := r.meant(ctx, f, question, unread, guess)
	if err != nil {
		return err
	}
	return dialog.NotUnderstood(dialog.Refusal{Unread: unread, Guess: guess, Names: names, Meant: meant})
}

// meant returns questions that the asker may mean, which the reader answers: corrections, or
// else the guess; and the names in the corrections.
func (r *Reader) meant(ctx context.Context, f *interpretation, question string, unread []string, guess string) (questions, names []string, err error) {
	if len(unread) > 0 || guess == "" {
		return r.corrections(ctx, f.source, question, unread)
	}
	guess = f.asQuestion(&f.readings[0])
	if ok, err := r.answers(ctx, f.source, guess); !ok {
		return nil, nil, err
	}
	return []string{guess}, nil, nil
}

// asQuestion describes a reading as a question. The reader reads it, so its numbers have
// digits alone.
func (f *interpretation) asQuestion(x *rank.Reading) string {
	return sentenceCase(ir.Describe(x.Query, f.source.Catalog, locale.Numbers{}))
}

// otherGuess returns a reading that is about as likely as the first, where neither is likely,
// and reads differently in words; nil for none.
func (f *interpretation) otherGuess() *rank.Reading {
	first := &f.readings[0]
	if len(first.Unread) > 0 || first.Empty {
		return nil
	}
	for i := range f.readings[1:] {
		other := &f.readings[i+1]
		if words := f.describe(other); other.Share >= ambiguousShare*first.Share && len(other.Unread) == 0 && !other.Empty && words != f.describe(first) {
			return other
		}
	}
	return nil
}

// interpret reads a question about datasets of rows, alone and as a follow-up of the
// previous question, and returns the more confident readings. It combines parts of datasets,
// except separate ones.
func (r *Reader) interpret(ctx context.Context, task llm.QueryTask, question string, turns []turn, datasets []llm.Dataset, separate []string) (interpretation, error) {
	questions := []string{question}
	for _, t := range turns {
		questions = append(questions, t.question)
	}
	datasets, task.Links = unionParts(datasets, task.Links, questions, separate)
	s, err := r.source(ctx, task.Task, r.selectDatasets(question, task.Task, turns, datasets), questions)
	if err != nil || len(datasets) == 0 {
		return interpretation{source: &source{Catalog: catalog.Join(nil, nil)}}, err
	}
	alone, err := r.read(ctx, question, s, nil)
	if err != nil {
		return interpretation{}, err
	}
	standalone := interpretation{readings: slices.Clone(alone.readings), source: s, values: alone.values}
	minConfidence := 0.0 // the least confidence of a reading as a follow-up
	if len(alone.readings) > 0 {
		minConfidence = followUpFactor(link.Tokenize(question)) * alone.readings[0].Confidence
	}
	if len(turns) == 0 || minConfidence > 1 {
		return standalone, nil
	}
	earlier, err := r.earlierQuery(ctx, turns, s)
	if err != nil || earlier == nil {
		return standalone, err
	}
	inContext, err := r.read(ctx, question, s, earlier)
	if err != nil {
		return interpretation{}, err
	}
	if len(inContext.readings) > 0 && inContext.readings[0].Confidence >= minConfidence {
		return interpretation{readings: slices.Clone(inContext.readings), source: s, values: inContext.values, followUp: true}, nil
	}
	return standalone, nil
}
