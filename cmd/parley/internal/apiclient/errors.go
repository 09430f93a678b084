package apiclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/internal/retry"
)

// UnreachableError is a server that gives no answer.
type UnreachableError struct {
	// Server is its address, without a path.
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from %s: %v", e.Server, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable says that a request got no answer. Neither the path nor what may
// stand behind it, a signature perhaps, is repeated.
func unreachable(request *http.Request, err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if cause := context.Cause(request.Context()); errors.Is(cause, errSilent) {
		err = cause
	} else if cause != nil {
		return fmt.Errorf("ask the server: %w", request.Context().Err())
	}
	return &UnreachableError{Server: request.URL.Scheme + "://" + request.URL.Host, Err: err}
}

// Unavailable reports whether an error is a server that cannot be asked now, and
// perhaps can later.
func Unavailable(err error) bool {
	var silent *UnreachableError
	return errors.As(err, &silent) || slices.Contains([]int{
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}, Status(err))
}

// StatusError is an answer that says no.
type StatusError struct {
	// Status is HTTP's, Code the interface's own, "" when the answer has none.
	Status int
	Code   string
	// Message says why, in the server's words.
	Message string
	// After is how long the server asks to be left alone, 0 when it does not say.
	After time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server says %d: %s", e.Status, e.Message)
}

// maxAfter is the longest that a server's word is taken for.
const maxAfter = time.Minute

// refusal reads an answer that says no: the interface's own, or anything else,
// for something in between may have said it.
func refusal(status int, header http.Header, answer []byte) *StatusError {
	var said struct {
		ErrorCode    string `json:"error_code"`
		Message      string `json:"message"`
		ErrorMessage string `json:"error_message"`
		SubErrors    []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"sub_errors"`
	}
	refused := &StatusError{Status: status, Message: http.StatusText(status), After: retry.After(header, maxAfter)}
	if json.Unmarshal(answer, &said) != nil {
		return refused
	}
	refused.Code = said.ErrorCode
	refused.Message = cmp.Or(said.ErrorMessage, said.Message, refused.Message)
	var wrong []string
	for _, field := range said.SubErrors {
		text := field.Message
		if !strings.HasPrefix(text, field.Code) {
			text = field.Code + " " + text
		}
		if !strings.Contains(refused.Message, text) {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) > 0 {
		refused.Message += ": " + strings.Join(wrong, "; ")
	}
	return refused
}
