package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/llm"
)

const (
	// readingInput is the name of the input that chooses how a question is read.
	readingInput = "reading"
	// maxAskedAgain is how often a question is asked again whose answer is none of its
	// options.
	maxAskedAgain = 3
	// maxLabel limits the description of a reading, in bytes.
	maxLabel = 500
)

var (
	// errWaiting says that the run waits for an answer of the user.
	errWaiting = errors.New("the run waits for an answer")
	// errInputNotUnderstood is for the reader of the run, too.
	errInputNotUnderstood = errors.New("no answer matched an option; ask again more precisely")
)

// inputData is the data part of a message that asks for input.
type inputData struct {
	domain.Input
	// Step is the step that it is about, counted from 0.
	Step int `json:"step"`
}

// readInput reads the data of a message that asks for input. It reports false for others.
func readInput(message *a2a.Message) (inputData, bool) {
	var data inputData
	return data, readData(message.Parts, &data) && data.Options != nil
}

// InputOf returns what a task asks the user for; nil when it does not.
func InputOf(status a2a.TaskStatus) *domain.Input {
	if status.State != a2a.TaskStateInputRequired && status.State != a2a.TaskStateAuthRequired {
		return nil
	}
	if status.Message == nil {
		return &domain.Input{}
	}
	data, _ := readInput(status.Message)
	data.Question = strings.TrimSuffix(readText(status.Message.Parts), data.Text())
	return &data.Input
}

// inputRequest is a question to the user.
type inputRequest struct {
	inputData
	// answer is "" when there is none yet.
	answer string
}

// inputRequests returns the questions to the user, oldest first. Hosts differ in the order of a
// question and its answer in the history; what the user said after the first message are the
// answers, one for each question.
func (w *Run) inputRequests() []inputRequest {
	var all []inputRequest
	answers := w.userMessages()
	for _, message := range w.agentMessages() {
		data, ok := readInput(message)
		if !ok {
			continue
		}
		one := inputRequest{inputData: data}
		if len(all)+1 < len(answers) {
			one.answer = readText(answers[len(all)+1].Parts)
		}
		all = append(all, one)
	}
	return all
}

// waits reports whether the last question to the user has no answer.
func (w *Run) waits() bool {
	return InputOf(w.stored.Status) != nil && len(w.userMessages()) <= len(w.inputRequests())
}

// askReading asks which reading of a step is meant, and suspends the run.
func (w *Run) askReading(ctx context.Context, step int, instruction string, readings []llm.Reading) error {
	data := inputData{Input: domain.Input{Name: readingInput, Question: "Which do you mean?"}, Step: step}
	for i, reading := range readings {
		data.Options = append(data.Options, newOption(i, reading))
	}
	if instruction != w.question.Text {
		data.Question = fmt.Sprintf("“%s”: which do you mean?", label(instruction))
	}
	return w.ask(ctx, data)
}

func (w *Run) ask(ctx context.Context, data inputData) error {
	if err := w.EmitStatus(ctx, a2a.TaskStateInputRequired, a2a.NewTextPart(data.Text()), newData(data)); err != nil {
		return err
	}
	return errWaiting
}

// chosen returns the reading of a step that the user has chosen; nil when the user was not
// asked. An answer that is none of the options has the question asked again. A question can also
// be one of the readings that the answer to the previous one offered.
func (w *Run) chosen(ctx context.Context, step int, instruction string) (*Found, error) {
	var last *inputRequest
	count := 0
	for _, one := range w.inputRequests() {
		if one.Name == readingInput && one.Step == step {
			last = &one
			count++
		}
	}
	option, ok := domain.InputOption{}, false
	switch {
	case last != nil:
		option, ok = choose(last.Options, last.answer)
	case w.asks(instruction):
		if option, ok = named(w.offered, w.question.Text); ok {
			w.rateOffered(ctx, option)
		}
	}
	switch {
	case ok:
		return &Found{
			Step:       llm.Step{Instruction: instruction, Query: clean(option.Query, maxQuery), Reasoning: readAsChosen(option), Rows: llm.Rows{Measure: option.Measure}},
			Confidence: 1,
		}, nil
	case last == nil:
		return nil, nil
	}
	if count > maxAskedAgain {
		return nil, errInputNotUnderstood
	}
	last.Question = "That is not one of the options. Which do you mean?"
	return nil, w.ask(ctx, last.inputData)
}

// readAsChosen says how a question was read whose reading the user has chosen.
func readAsChosen(option domain.InputOption) string {
	return "Read as chosen: " + sentence(option.Label)
}

// rateOffered remembers that the user has chosen another reading than that of the previous answer.
func (w *Run) rateOffered(ctx context.Context, option domain.InputOption) {
	if w.config.Feedback == nil {
		return
	}
	rating := domain.Rating{RunID: w.offeredBy, Comment: "Another reading was chosen: " + option.Label}
	if err := w.config.Feedback.Rate(ctx, w.question.Caller, rating); err != nil {
		w.config.Log.WarnContext(ctx, "choice of a reading not remembered", "run", w.offeredBy, "error", err)
	}
}

// label returns an untrusted description for a reader, on one line.
func label(text string) string { return llm.Plain(oneLine(text, maxLabel)) }
