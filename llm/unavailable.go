package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// failure is an error with words for whoever asked, which tell neither keys nor
// addresses. What happened is wrapped, and logged.
type failure struct {
	words string
	// kind is [ErrUnavailable] or [ErrNoAnswer].
	kind, cause error
}

// Error gives the words for whoever asked.
func (f *failure) Error() string { return f.words }

// Unwrap gives the kind and the cause.
func (f *failure) Unwrap() []error { return []error{f.kind, f.cause} }

// LogValue implements [slog.LogValuer]: the log gets the cause too.
func (f *failure) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("%s (%v)", f.words, f.cause))
}

// Words gives what an error of a job says to whoever asked; "" when it says
// nothing to them.
func Words(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.words
	}
	return ""
}

// explain gives err the words for whoever asked. When ctx has ended, it is left
// as it is: nobody waits for words.
func (c *caller) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if errors.Is(err, ErrNoAnswer) {
		return &failure{words: fmt.Sprintf("the language model %s gave no answer that can be used", c.model), kind: ErrNoAnswer, cause: err}
	}
	return &failure{words: fmt.Sprintf("%v: %s %s", ErrUnavailable, c.model, blame(err)), kind: ErrUnavailable, cause: err}
}

// blame says what is wrong with a model, as the rest of a sentence.
func blame(err error) string {
	var status *StatusError
	switch {
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusUnauthorized, http.StatusForbidden:
			return "does not accept the API key that is set"
		case http.StatusNotFound:
			return "is not known to its provider"
		case http.StatusTooManyRequests:
			return "has too many requests; try again later"
		}
		if status.Code < 500 {
			return fmt.Sprintf("refused the request (%d)", status.Code)
		}
		return fmt.Sprintf("has a problem of its own (%d); try again later", status.Code)
	case errors.Is(err, errTired):
		return "failed several times in a row; try again in a minute"
	case errors.Is(err, errSilent), errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	case errors.Is(err, errBrokeOff):
		return "broke off in the middle of its answer"
	}
	return "gives no connection"
}
