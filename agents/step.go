package agents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/llm"
)

const (
	// tries is how many queries are written for a step, including one repair.
	tries = 2
	// noQuery starts the text that stored runs of earlier releases have in place of a query
	// that could not be written.
	noQuery = "-- no query: "
	// noPassages is the reason when a search finds nothing.
	noPassages = "Nothing in the documents matches that."

	defaultPassages = 10
	maxPassages     = 100
)

// Found is a step with its query or search and its result.
type Found struct {
	llm.Step
	// Confidence is from 0 to 1; 0 if it is not known.
	Confidence float64
	// Search is set where the step was a search.
	Search *llm.Search
	// Alternatives are other readings to choose from: of a query that is only likely, or of a
	// question whose user must not be asked.
	Alternatives []domain.InputOption
	// Verified says that the query was verified for the question, by VerifiedBy.
	Verified   bool
	VerifiedBy string
	// Sources are the datasets that the query read.
	Sources []domain.Source
	// Chart is a Vega-Lite specification of the rows; nil if no chart helps.
	Chart map[string]any
	// Notes are sentences about the rows, which Reasoning has too.
	Notes []string
	// Refusal is set where no query could be written.
	Refusal *llm.UnanswerableError
	// asIs says that the query runs without the join guard: a person has saved it.
	asIs bool
}

// RunStep writes a query for a step, counted from 0, and runs it. One that is refused or
// fails is rewritten once, with the reason. A step that the data cannot answer has its
// Failure set. A step with two readings suspends the run with a question to the user; when
// it is resumed, the query is that of the reading that was chosen.
func (w *Run) RunStep(ctx context.Context, step int, instruction string, before []llm.Step) (Found, error) {
	if w.question.Standing != nil {
		found, err := w.again(ctx, w.question.Standing.Query)
		if err != nil {
			return Found{}, &queryError{query: found.Query, err: err}
		}
		return found, nil
	}
	if len(w.task.Datasets) == 0 {
		return refused(instruction, &llm.UnanswerableError{Reason: "There is no data here that you may read."}), nil
	}
	job := llm.QueryTask{Task: w.task, Instruction: instruction, Before: bounded(before)}
	chosen, err := w.chosen(ctx, step, instruction)
	if err != nil {
		return Found{}, err
	}
	if chosen == nil && w.asks(instruction) {
		found, err := w.verified(ctx)
		if err != nil {
			return Found{}, err
		}
		if found != nil {
			return *found, nil
		}
	}
	var shown string
	for {
		var found Found
		if chosen != nil {
			found, chosen = *chosen, nil
		} else {
			found, err = w.write(ctx, step, job)
		}
		if unanswerable, ok := errors.AsType[*llm.UnanswerableError](err); ok {
			return refused(instruction, unanswerable), nil
		}
		if err != nil {
			return Found{}, &queryError{query: shown, err: err}
		}
		if err = w.run(ctx, &found); err == nil {
			return found, nil
		}
		shown = found.Query
		job.Failed = append(job.Failed, llm.FailedQuery{SQL: shown, Reason: wordsOf(err, "the query is not valid")})
		if !errors.Is(err, domain.ErrInvalid) || len(job.Failed) == tries {
			return Found{}, &queryError{query: shown, err: err}
		}
	}
}

// write writes a query, with its texts limited. A step with several readings is asked about,
// unless the user must not be asked.
func (w *Run) write(ctx context.Context, step int, job llm.QueryTask) (Found, error) {
	query, err := w.writeQuery(ctx, job)
	found := Found{
		Step:       llm.Step{Instruction: job.Instruction, Query: clean(query.SQL, maxQuery), Reasoning: clean(query.Reasoning, maxReasoning)},
		Confidence: share(query.Confidence),
		Search:     searchOf(query.Search),
	}
	found.Rows.Measure = query.Measure
	others := query.Others
	switch least := w.question.MinConfidence; {
	case err != nil:
		return found, err
	case len(query.Readings) < 2:
	case !w.question.NeverAsk:
		return found, w.askReading(ctx, step, job.Instruction, query.Readings)
	case least != nil && found.Confidence < *least:
		return found, ambiguous(query.Readings)
	default:
		others = query.Readings[1:]
	}
	found.offer(others)
	return found, nil
}

// ambiguous is the refusal of a question with several readings, none of which is likely enough.
func ambiguous(readings []llm.Reading) error {
	var labels []string
	for _, reading := range readings {
		labels = append(labels, label(reading.Words))
	}
	return &llm.UnanswerableError{Reason: "The question can be read in several ways, and none is likely enough: " + strings.Join(labels, "; or: "), Suggestions: labels}
}

// maxAlternatives is how many other readings an answer offers.
const maxAlternatives = 2

// offer adds other readings to choose from, and says how sure the reading of the query is.
func (f *Found) offer(others []llm.Reading) {
	var labels []string
	for i, other := range others[:min(len(others), maxAlternatives)] {
		option := newOption(i, other)
		f.Alternatives, labels = append(f.Alternatives, option), append(labels, option.Label)
	}
	text := f.Reasoning
	if certainty(f.Confidence) == likely {
		text = sentence(text) + " Is that right?"
	}
	if len(labels) > 0 {
		text = sentence(text) + " It could also mean: " + sentence(strings.Join(labels, "; or: "))
	}
	f.Reasoning = clean(text, maxReasoning)
}

// newOption returns a reading to choose, counted from 0.
func newOption(i int, reading llm.Reading) domain.InputOption {
	return domain.InputOption{ID: strconv.Itoa(i + 1), Label: label(reading.Words), Query: clean(reading.SQL, maxQuery), Measure: reading.Measure}
}

// The degrees of certainty.
const (
	sure   = "sure"
	likely = "likely"
)

// certainty returns the degree of a confidence; "" for one that is not known.
func certainty(confidence float64) string {
	switch {
	case confidence == 0:
		return ""
	case confidence >= llm.SureConfidence:
		return sure
	}
	return likely
}

// addCertainty adds the certainty of a step, who verified it, and the measure of its rows, to the
// metadata of its artifact.
func (f Found) addCertainty(metadata map[string]any) {
	if f.Verified {
		metadata["verified"] = true
	}
	if f.VerifiedBy != "" {
		metadata["verifiedBy"] = f.VerifiedBy
	}
	if f.Rows.Measure != "" {
		metadata["measure"] = f.Rows.Measure
	}
	if f.Confidence > 0 {
		metadata["confidence"], metadata["certainty"] = f.Confidence, certainty(f.Confidence)
	}
	if len(f.Alternatives) > 0 {
		metadata["alternatives"] = alternativesData(f.Alternatives)
	}
}

// alternativesData returns readings to choose from as metadata, in types that all hosts can copy.
func alternativesData(options []domain.InputOption) []any {
	var all []any
	for _, option := range options {
		one := map[string]any{"id": option.ID, "label": option.Label, "query": option.Query}
		if option.Measure != "" {
			one["measure"] = option.Measure
		}
		all = append(all, one)
	}
	return all
}

// readCertainty reads what addCertainty added.
func readCertainty(metadata map[string]any) (confidence float64, alternatives []domain.InputOption) {
	confidence, _ = metadata["confidence"].(float64)
	_ = decode(metadata["alternatives"], &alternatives) // none if there are none
	return confidence, alternatives
}

// writeQuery writes a query. The name of the namespace at the end of a step is left out if the
// query cannot use it: it may also be a value of the data.
func (w *Run) writeQuery(ctx context.Context, job llm.QueryTask) (llm.Query, error) {
	write := func() (llm.Query, error) {
		return do(ctx, w, "write_query", func(ctx context.Context) (llm.Query, error) { return w.jobs.WriteQuery(ctx, job) },
			func(q llm.Query) llm.Usage { return q.Usage })
	}
	query, err := write()
	address, ok := domain.FindAddress(w.question.Caller, job.Instruction, []domain.NamespaceRef{w.question.Namespace})
	_, refused := errors.AsType[*llm.UnanswerableError](err)
	isPart := func(unused string) bool {
		words := wordsIn(unused)
		return len(words) > 0 && hasWords(wordsIn(address.Name), words)
	}
	if !ok || !refused && !slices.ContainsFunc(query.Unused, isPart) {
		return query, err
	}
	job.Instruction = address.Rest
	other, otherErr := write()
	if otherErr != nil {
		return query, err
	}
	other.Reasoning = strings.TrimSpace(sentence(other.Reasoning) + " Taken as the namespace: “" + address.Name + "”.")
	return other, nil
}

func (w *Run) run(ctx context.Context, found *Found) error {
	var result domain.QueryResult
	var err error
	if found.Search != nil {
		found.Query = fmt.Sprintf("-- search %s: %s", oneLine(found.Search.Dataset, 200), oneLine(found.Search.Words, maxReason))
		result, err = w.search(ctx, *found.Search)
	} else {
		result, err = w.query(ctx, found.Query, !found.asIs)
	}
	if err != nil {
		return fmt.Errorf("run a step: %w", err)
	}
	if result.Rewritten || found.Search != nil && result.SQL != "" {
		found.Query = clean(result.SQL, maxQuery)
	}
	found.Sources = result.Sources
	found.note(result.Notes)
	measure := found.Rows.Measure
	if found.Rows = rowsOf(result); slices.Contains(found.Rows.Columns, measure) {
		found.Rows.Measure = measure
	}
	switch {
	case found.Search == nil:
		found.Rows.Units = w.units(ctx, found.Query, result.Columns)
		found.Chart = chartOf(ctx, found.Instruction, result, found.Rows)
	case len(found.Rows.Rows) == 0:
		found.Failure, found.Rows = noPassages, llm.Rows{} // as when it is taken over
		found.Reasoning = found.Failure
	}
	return nil
}

// note adds notes about the rows. A step that is looked up again has them already.
func (f *Found) note(notes []string) {
	f.Notes = notes
	for _, note := range notes {
		if !strings.Contains(f.Reasoning, note) {
			f.Reasoning = clean(strings.TrimSpace(sentence(f.Reasoning)+" "+note), maxReasoning)
		}
	}
}

// refused makes a step that the data cannot answer.
func refused(instruction string, refusal *llm.UnanswerableError) Found {
	reason := oneLine(refusal.Reason, maxReason)
	if reason == "" {
		reason = "The data does not hold what was asked for."
	}
	return Found{
		Step:    llm.Step{Instruction: instruction, Reasoning: reason, Failure: reason},
		Refusal: &llm.UnanswerableError{Reason: reason, Words: refusal.Words, Suggestions: refusal.Suggestions},
	}
}

// Metadata returns the metadata of the step's artifact.
func (f Found) Metadata() map[string]any {
	metadata := map[string]any{"reasoning": f.Reasoning}
	f.addCertainty(metadata)
	if f.Failure != "" {
		metadata["answered"] = false
	}
	if f.Refusal != nil && len(f.Refusal.Suggestions) > 0 {
		metadata["suggestions"] = plainTexts(f.Refusal.Suggestions)
	}
	if len(f.Notes) > 0 {
		metadata["notes"] = f.Notes
	}
	return metadata
}

// RowsMetadata returns the metadata of the artifact that has the step's rows: how they are
// shown, how certain they are, and whether their query was verified.
func (f Found) RowsMetadata() map[string]any {
	metadata := map[string]any{}
	f.addCertainty(metadata)
	if f.Chart != nil {
		metadata["chart"] = f.Chart
	}
	if len(f.Sources) > 0 {
		var sources []any
		for _, source := range f.Sources {
			sources = append(sources, map[string]any{"dataset": source.Dataset, "version": source.Version, "hash": source.Hash})
		}
		metadata["sources"] = sources
	}
	if len(f.Rows.Units) > 0 {
		units := map[string]any{}
		for column, unit := range f.Rows.Units {
			units[column] = unit
		}
		metadata["units"] = units
	}
	return metadata
}

// RunStepAgain runs the query of an artifact that was emitted before, or the search in its
// metadata.
func (w *Run) RunStepAgain(ctx context.Context, artifact *a2a.Artifact) (Found, error) {
	found := Found{Step: ReadStep(artifact), Verified: isVerified(artifact)}
	found.asIs = found.Verified || w.question.Standing != nil
	found.Confidence, found.Alternatives = readCertainty(artifact.Metadata)
	found.Rows.Measure = readMeasure(artifact)
	found.VerifiedBy, _ = artifact.Metadata["verifiedBy"].(string)
	if found.Failure != "" {
		return found, nil
	}
	shown := found.Query
	if search, ok := artifact.Metadata["search"]; ok {
		found.Search = new(llm.Search)
		if err := decode(search, found.Search); err != nil {
			return found, fmt.Errorf("read the search of a run: %w", err)
		}
	}
	if err := w.run(ctx, &found); err != nil {
		return found, &queryError{query: shown, err: err}
	}
	return found, nil
}

// NewStep makes the parts of the artifact of a step: its query, if there is one, and its rows.
func NewStep(step llm.Step) []*a2a.Part {
	parts := []*a2a.Part{NewRows(step.Rows)}
	if step.Query != "" {
		parts = append([]*a2a.Part{a2a.NewTextPart(step.Query)}, parts...)
	}
	return parts
}

// ReadStep reads the step of an artifact.
func ReadStep(artifact *a2a.Artifact) llm.Step {
	step := llm.Step{Query: writtenQuery(readText(artifact.Parts)), Rows: readRows(artifact)}
	step.Instruction, _ = artifact.Metadata["instruction"].(string)
	step.Reasoning, _ = artifact.Metadata["reasoning"].(string)
	if answered, ok := artifact.Metadata["answered"].(bool); ok && !answered {
		step.Failure = step.Reasoning
	}
	return step
}

// writtenQuery returns the query of a stored step; "" if none could be written.
func writtenQuery(text string) string {
	if strings.HasPrefix(text, noQuery) {
		return ""
	}
	return text
}

// isVerified reports whether the query of an artifact was verified.
func isVerified(artifact *a2a.Artifact) bool {
	verified, _ := artifact.Metadata["verified"].(bool)
	return verified
}

// searchOf returns a search with its limits applied.
func searchOf(search *llm.Search) *llm.Search {
	if search == nil {
		return nil
	}
	limit := search.Limit
	if limit <= 0 {
		limit = defaultPassages
	}
	return &llm.Search{
		Dataset: clean(search.Dataset, maxReason),
		Words:   clean(search.Words, maxReasoning),
		Limit:   min(limit, maxPassages),
	}
}

// share limits a number to 0 to 1.
func share(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}
