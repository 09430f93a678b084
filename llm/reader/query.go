package reader

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/rank"
)

// closeShare is how much of the best reading's share another must have for the question
// to be ambiguous.
const closeShare = 0.6

// leastFoundNothing is how likely a reading that finds nothing must be, by the network, to
// be named.
const leastFoundNothing = 0.6

// WriteQuery reads a step as a query over the datasets, or as a search for passages of
// text. What it does not understand well enough is an [llm.UnanswerableError] that names
// the words.
func (r *Reader) WriteQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	question := cmp.Or(task.Instruction, task.Question)
	if strings.IndexFunc(question, isWordRune) < 0 {
		return llm.Query{}, dialog.EmptyQuestion()
	}
	rows, passages := split(task.Datasets)
	if len(rows) == 0 && len(passages) == 0 {
		return llm.Query{}, dialog.NoData()
	}
	tokens, turns := link.Tokenize(question), turnsOf(task)
	language := dialog.Language(tokens)
	switch {
	case !link.Fits(question):
		return llm.Query{}, dialog.TooLong(link.MaxTokens)
	case language != "" && len(passages) == 0:
		return llm.Query{}, dialog.OtherLanguage(language)
	case len(dialog.Steps(question)) > 1:
		return llm.Query{}, dialog.SeveralQuestions()
	}
	if len(turns) == 0 && dialog.PointsBack(tokens) {
		return llm.Query{}, dialog.NothingBefore()
	}
	found, err := r.find(ctx, task, withHint(question, task.Hints, rows), turns, rows)
	if err != nil {
		return llm.Query{}, err
	}
	found.readings = slices.DeleteFunc(found.readings, func(x rank.Reading) bool { return failed(task.Failed, x.SQL) })
	sure := language == "" && found.sure()
	if sure && (len(passages) == 0 || len(found.readings[0].Unread) == 0) {
		return found.query(), nil
	}
	if len(task.Failed) == 0 {
		if q, ok, err := dialog.Search(ctx, task.Data, tokens, rows, passages); ok || err != nil {
			return q, err
		}
	}
	switch {
	case sure:
		return found.query(), nil
	case language != "":
		return llm.Query{}, dialog.OtherLanguage(language)
	}
	return llm.Query{}, r.refusal(ctx, &found, tokens)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// failed reports whether a query was tried already.
func failed(tries []llm.FailedQuery, sql string) bool {
	return slices.ContainsFunc(tries, func(f llm.FailedQuery) bool { return strings.TrimSpace(f.SQL) == sql })
}

// split tells datasets of rows from datasets of passages.
func split(datasets []llm.Dataset) (rows, passages []llm.Dataset) {
	for _, d := range datasets {
		if d.HoldsPassages() {
			passages = append(passages, d)
		} else {
			rows = append(rows, d)
		}
	}
	return rows, passages
}

// found is how a question can be read.
type found struct {
	// readings are the surest first.
	readings []rank.Reading
	source   *source
	// goesOn says that they go on from the question before.
	goesOn bool
}

// sure reports whether the surest reading is an answer.
func (f *found) sure() bool {
	return len(f.readings) > 0 && rank.Sure(f.readings[0].Confidence, f.readings[0].Unread)
}

// query gives the surest reading.
func (f *found) query() llm.Query {
	best := &f.readings[0]
	words := "Read as: "
	if f.goesOn {
		words = "Read with the question before as: "
	}
	return llm.Query{SQL: best.SQL, Reasoning: words + f.words(best) + "." + f.joined(best) + dialog.Unused(best.Unread), Confidence: best.Confidence}
}

// words says what a reading does.
func (f *found) words(x *rank.Reading) string { return ir.Words(x.Query, f.source.Catalog) }

// joined names the columns by which a reading joins tables, "" where it reads one.
func (f *found) joined(x *rank.Reading) string {
	_, links, err := ir.Tables(x.Query, f.source.Catalog)
	if err != nil || len(links) == 0 {
		return ""
	}
	pairs := make([]string, len(links))
	for i, l := range links {
		pairs[i] = f.column(l.From) + " = " + f.column(l.To)
	}
	return " Joined by " + strings.Join(pairs, " and ") + "."
}

// column names a column with its table.
func (f *found) column(n int) string {
	c := &f.source.Columns[n]
	return f.source.Tables[c.Table].Name + "." + c.Name
}

// refusal says why there is no answer: nothing is found, two readings are about as likely,
// or words are not understood.
func (r *Reader) refusal(ctx context.Context, f *found, tokens []link.Token) error {
	var unread []string
	guess := ""
	if len(f.readings) > 0 {
		likeliest := slices.MaxFunc(f.readings, func(a, b rank.Reading) int { return cmp.Compare(a.Probability, b.Probability) })
		if likeliest.Empty && len(likeliest.Unread) == 0 && likeliest.Probability >= leastFoundNothing {
			return dialog.NothingFound(f.words(&likeliest))
		}
		unread, guess = f.readings[0].Unread, f.words(&f.readings[0])
		if other := f.rival(); other != "" {
			return dialog.Ambiguous(guess, other)
		}
	}
	examples, err := r.examples(ctx, f.source, tokens)
	if err != nil {
		return err
	}
	return dialog.NotUnderstood(unread, guess, examples)
}

// rival gives, in words, a reading that is about as likely as the first and can be told
// from it; "" for none.
func (f *found) rival() string {
	first := &f.readings[0]
	if len(first.Unread) > 0 || first.Empty {
		return ""
	}
	for i := range f.readings[1:] {
		other := &f.readings[i+1]
		if words := f.words(other); other.Share >= closeShare*first.Share && len(other.Unread) == 0 && !other.Empty && words != f.words(first) {
			return words
		}
	}
	return ""
}

// maxExamples is how many questions a refusal names.
const maxExamples = 2

// examples gives questions that are surely understood, to ask in place of one that is not.
func (r *Reader) examples(ctx context.Context, s *source, tokens []link.Token) ([]string, error) {
	var examples []string
	for _, question := range dialog.Suggestions(tokens, s.Catalog) {
		if len(examples) == maxExamples {
			break
		}
		found, err := r.read(ctx, question, s, nil)
		if err != nil {
			return nil, err
		}
		if len(found.all) > 0 && len(found.all[0].Unread) == 0 && rank.Sure(found.all[0].Confidence, nil) {
			examples = append(examples, question)
		}
	}
	return examples, nil
}

// find reads a question about datasets of rows, alone and after the one before it, and
// gives the readings of the surer way.
func (r *Reader) find(ctx context.Context, task llm.QueryTask, question string, turns []turn, datasets []llm.Dataset) (found, error) {
	questions := []string{question}
	for _, t := range turns {
		questions = append(questions, t.question)
	}
	s, err := r.source(ctx, task.Task, r.relevant(question, task.Hints, turns, datasets), questions)
	if err != nil || len(datasets) == 0 {
		return found{source: &source{Catalog: catalog.Join(nil, nil)}}, err
	}
	alone, err := r.read(ctx, question, s, nil)
	if err != nil {
		return found{}, err
	}
	standing := found{readings: slices.Clone(alone.all), source: s}
	least := 0.0 // how sure a reading must be that goes on from the question before
	if len(alone.all) > 0 {
		least = advantage(link.Tokenize(question)) * alone.all[0].Confidence
	}
	if len(turns) == 0 || least > 1 {
		return standing, nil
	}
	earlier, err := r.earlierQuery(ctx, turns, s)
	if err != nil || earlier == nil {
		return standing, err
	}
	after, err := r.read(ctx, question, s, earlier)
	if err != nil {
		return found{}, err
	}
	if len(after.all) > 0 && after.all[0].Confidence >= least {
		return found{readings: slices.Clone(after.all), source: s, goesOn: true}, nil
	}
	return standing, nil
}
