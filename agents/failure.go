package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/llm"
)

// Codes of failures that end a run.
const (
	// NotUnderstood is the code where no query could be written for the question.
	NotUnderstood = "NOT_UNDERSTOOD"

	// codeInput is for answers that are none of the options.
	codeInput       = "INPUT_NOT_UNDERSTOOD"
	codeAttachment  = "ATTACHMENT_REFUSED"
	codeQuery       = "QUERY_FAILED"
	codeModel       = "MODEL_UNAVAILABLE"
	codeNotFound    = "NAMESPACE_NOT_FOUND"
	codeUnavailable = "UNAVAILABLE"
	codeTimeout     = "TIMEOUT"
	codeCanceled    = "CANCELED"
	codeInternal    = "INTERNAL"
)

// modelError is a failure of a model.
type modelError struct{ err error }

func (e *modelError) Error() string { return "language model: " + e.err.Error() }
func (e *modelError) Unwrap() error { return e.err }

// attachmentError says why an attached file cannot be read.
type attachmentError struct{ err error }

func (e *attachmentError) Error() string { return "attachment: " + e.err.Error() }
func (e *attachmentError) Unwrap() error { return e.err }

// queryError is a failure of a query.
type queryError struct {
	// query is its SQL; "" for none.
	query string
	err   error
}

func (e *queryError) Error() string { return e.err.Error() }
func (e *queryError) Unwrap() error { return e.err }

// stepError is a failure of one step.
type stepError struct {
	index       int
	instruction string
	err         error
}

func (e *stepError) Error() string { return fmt.Sprintf("step %d: %v", e.index+1, e.err) }
func (e *stepError) Unwrap() error { return e.err }

// StepFailed wraps the error of a step, counted from 0.
func StepFailed(index int, instruction string, err error) error {
	return &stepError{index: index, instruction: instruction, err: err}
}

// explain returns the code of a failure, and a reason without internal details.
func explain(err error) (code, reason string) {
	var model *modelError
	var query *queryError
	inModel := errors.As(err, &model) && !errors.As(model.err, &query)
	refusal, isRefusal := errors.AsType[*llm.UnanswerableError](err)
	_, isAttachment := errors.AsType[*attachmentError](err)
	switch {
	case isAttachment:
		return codeAttachment, "the attached file cannot be read: " + wordsOf(err, "its format is not known")
	case isRefusal:
		return NotUnderstood, refusal.Reason
	case errors.Is(err, errInputNotUnderstood):
		return codeInput, errInputNotUnderstood.Error()
	case errors.Is(err, domain.ErrNotFound):
		return codeNotFound, "the namespace is not there, or you may not read it any more"
	case errors.Is(err, domain.ErrUnavailable), errors.Is(err, domain.ErrTooMany):
		return codeUnavailable, wordsOf(err, "the data cannot be reached now; try again soon")
	case errors.Is(err, errJobTimeout):
		return codeTimeout, "the language model took too long"
	case errors.Is(err, llm.ErrUnavailable):
		return codeModel, cmp.Or(llm.ClientMessage(err), llm.ErrUnavailable.Error())
	case inModel:
		return codeModel, wordsOf(err, cmp.Or(llm.ClientMessage(err), "the language model gave no answer that could be used"))
	case errors.Is(err, domain.ErrInvalid):
		return codeQuery, "the query could not be run: " + wordsOf(err, "it is not valid")
	case errors.Is(err, context.DeadlineExceeded):
		return codeTimeout, "the query took too long"
	}
	return codeInternal, "something went wrong on our side"
}

// wordsOf returns the message of an error that is meant for the caller, or a default.
func wordsOf(err error, others string) string {
	if known, ok := errors.AsType[*domain.Error](err); ok && known.Message != "" {
		return clean(known.Message, maxReason)
	}
	return others
}

// fail ends the run and logs the cause.
func (w *Run) fail(ctx context.Context, err error) {
	code, reason := explain(err)
	switch code {
	case codeInternal:
		w.log(ctx, slog.LevelError, err)
	case codeModel, codeTimeout:
		w.log(ctx, slog.LevelWarn, err)
	}
	if step, ok := errors.AsType[*stepError](err); ok {
		reason = fmt.Sprintf("step %d (%s): %s", step.index+1, oneLine(step.instruction, 200), reason)
	}
	data := map[string]any{"code": code}
	if query, ok := errors.AsType[*queryError](err); ok && query.query != "" {
		data["query"] = query.query
	}
	if refusal, ok := errors.AsType[*llm.UnanswerableError](err); ok {
		reason = w.Unanswered(reason)
		data["words"], data["suggestions"] = plainTexts(refusal.Words), plainTexts(refusal.Suggestions)
	}
	// The reason may repeat names from a query that a model wrote. An error here is
	// ignored: the run is being stopped.
	_ = w.EmitStatus(ctx, a2a.TaskStateFailed, a2a.NewTextPart(llm.Plain(reason)), newData(data))
}

// maxRefusalTexts limits the words and suggestions of a refusal.
const maxRefusalTexts = 10

// plainTexts returns untrusted texts for a reader.
func plainTexts(texts []string) []string {
	plain := []string{}
	for _, text := range texts[:min(len(texts), maxRefusalTexts)] {
		plain = append(plain, llm.Plain(oneLine(text, maxReason)))
	}
	return plain
}

func (w *Run) log(ctx context.Context, level slog.Level, err error) {
	args := []any{"run", w.execution.TaskID, "error", err}
	// A model's failure has one message for the reader and another for the log.
	var cause slog.LogValuer
	if errors.As(err, &cause) {
		args = append(args, "cause", cause)
	}
	w.config.Log.Log(ctx, level, "run failed", args...)
}
