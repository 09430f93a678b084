package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrNoKey says that a provider needs an API key and none is set.
var ErrNoKey = errors.New("no API key is set")

// ErrNoAnswer says that a provider accepted a question and sent back nothing of
// use: neither text nor a tool call, or what cannot be read as an answer.
var ErrNoAnswer = errors.New("the model gave no answer")

// errIncomplete says that an answer ended before the provider said that it is
// whole.
var errIncomplete = errors.New("the answer broke off")

// errIdle says that a provider stopped sending in the middle of an answer, or
// did not begin one.
var errIdle = errors.New("the model fell silent")

// StatusError is a provider's refusal: an HTTP status other than 2xx.
type StatusError struct {
	Provider string
	// Code is the HTTP status code.
	Code int
	// Message is the provider's own explanation, at most 300 bytes. It is empty
	// when there is none, when it repeats the key, and for 401, where providers
	// quote parts of the key.
	Message string
	// RetryAfter is how long the provider asks to be left alone; 0 when it does
	// not say.
	RetryAfter time.Duration
}

// Error says who refused, how and why.
func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%s answered %d %s", e.Provider, e.Code, http.StatusText(e.Code)))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

const (
	maxErrorText = 500
	// A shorter key is a placeholder for a server that wants none, and would
	// be found in ordinary words.
	minSecret = 8
)

// redact returns err, or what may be shown of it when its text repeats the key
// or runs on with what the provider sent.
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
