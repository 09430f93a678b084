package llm

import (
	"errors"
	"fmt"
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
	errIncomplete = errors.New("the answer broke off")
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
