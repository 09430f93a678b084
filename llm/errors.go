package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

var (
	// ErrNoKey says that a provider needs an API key and none is set.
	ErrNoKey = errors.New("no API key is set")
	// ErrNoAnswer says that a provider accepted a request and its answer is of no use: it
	// has neither text nor a tool call, or cannot be decoded.
	ErrNoAnswer = errors.New("the model gave no answer")
	// errIncomplete says that an answer ended early.
	errIncomplete = errors.New("the answer was interrupted")
	// errIdle says that a provider sent nothing for too long.
	errIdle = errors.New("the model fell silent")
)

// StatusError is a provider's refusal: an HTTP status other than 2xx.
type StatusError struct {
	Provider string
	// Code is the HTTP status code.
	Code int
	// Message is the provider's own, at most 300 bytes. It is empty when there is none,
	// when it repeats the key, and for 401, where providers quote parts of the key.
	Message string
	// RetryAfter is the pause that the provider asks for; 0 for none.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%s answered %d %s", e.Provider, e.Code, http.StatusText(e.Code)))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

const (
	maxErrorText = 500
	// minSecret is the least length of a key that is redacted: a shorter one is a
	// placeholder, and would occur in ordinary words.
	minSecret = 8
)

// redact replaces an error whose text has the key, and shortens a long one.
func redact(err error, key string) error {
	text := err.Error()
	if repeats(text, key) {
		return errors.New("the answer cannot be read, nor shown: it repeats the API key")
	}
	if len(text) > maxErrorText {
		return errors.New(shorten(text, maxErrorText))
	}
	return err
}

func repeats(text, key string) bool {
	return len(key) >= minSecret && strings.Contains(text, key)
}

// shorten cuts text to at most limit bytes, between characters.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

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

// ClientMessage returns the message of a job's error for the user; "" when it has none.
func ClientMessage(err error) string {
	if f, ok := errors.AsType[*failure](err); ok {
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

// cause returns the end of a sentence that begins with the model.
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
		return fmt.Sprintf("has an internal problem (%d); try again later", status.Code)
	case errors.Is(err, errBreakerOpen):
		return "failed several times in a row; try again in a minute"
	case errors.Is(err, errIdle), errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	case errors.Is(err, errIncomplete):
		return "stopped in the middle of its answer"
	}
	return "gives no connection"
}
