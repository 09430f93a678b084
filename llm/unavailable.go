package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// failure is an error with a message for the user, without keys and addresses. It wraps
// the cause.
type failure struct {
	message string
	// kind is [ErrUnavailable] or [ErrNoAnswer].
	kind, cause error
}

func (f *failure) Error() string   { return f.message }
func (f *failure) Unwrap() []error { return []error{f.kind, f.cause} }

// LogValue implements [slog.LogValuer], with the cause.
func (f *failure) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("%s (%v)", f.message, f.cause))
}

// ClientMessage gives the message of a job's error for the user; "" when it has none.
func ClientMessage(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.message
	}
	return ""
}

// explain adds a message for the user to err, unless ctx has ended.
func (c *caller) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if errors.Is(err, ErrNoAnswer) {
		return &failure{message: fmt.Sprintf("the language model %s gave no answer that can be used", c.model), kind: ErrNoAnswer, cause: err}
	}
	return &failure{message: fmt.Sprintf("%v: %s %s", ErrUnavailable, c.model, cause(err)), kind: ErrUnavailable, cause: err}
}

// cause gives the end of a sentence that begins with the model.
func cause(err error) string {
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
	case errors.Is(err, errBreakerOpen):
		return "failed several times in a row; try again in a minute"
	case errors.Is(err, errIdle), errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	case errors.Is(err, errIncomplete):
		return "broke off in the middle of its answer"
	}
	return "gives no connection"
}
