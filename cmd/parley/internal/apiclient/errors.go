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

// UnreachableError is a server that does not respond.
type UnreachableError struct {
	// Server is its address, without a path.
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from %s: %v", e.Server, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable returns the error of a request without a response. It has neither the path
// nor the query, which may be a signature.
func unreachable(request *http.Request, err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if cause := context.Cause(request.Context()); errors.Is(cause, errSilent) {
		err = cause
	} else if cause != nil {
		return fmt.Errorf("ask the server: %w", request.Context().Err())
	}
	return &UnreachableError{Server: serverOf(request), Err: err}
}

// serverOf is the address of a request's server, without a path.
func serverOf(request *http.Request) string { return request.URL.Scheme + "://" + request.URL.Host }

// ForeignError is a response of something that is no Parley server.
type ForeignError struct{ Server, Response string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("no Parley server is at %s: the response is %s", e.Server, e.Response)
}

// ofParley returns the error of a response: a ForeignError if the path or the method is
// unknown there and the body is not that of a Parley server.
func ofParley(request *http.Request, err error) error {
	refused, ok := errors.AsType[*StatusError](err)
	unknown := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	if ok && refused.Code == "" && slices.Contains(unknown, refused.Status) {
		return &ForeignError{serverOf(request), fmt.Sprintf("%d %s", refused.Status, refused.Message)}
	}
	return err
}

// Unavailable reports whether a later attempt may succeed.
func Unavailable(err error) bool {
	var silent *UnreachableError
	return errors.As(err, &silent) || slices.Contains([]int{
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}, Status(err))
}

// StatusError is an error response.
type StatusError struct {
	// Status is that of HTTP, Code that of the interface, "" for none.
	Status int
	Code   string
	// Message is the server's.
	Message string
	// After is Retry-After; 0 for none.
	After time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server says %d: %s", e.Status, e.Message)
}

// maxAfter limits Retry-After.
const maxAfter = time.Minute

// refusal parses an error response: the interface's own, or any other, perhaps of a
// proxy.
func refusal(status int, header http.Header, answer []byte) *StatusError {
	var body struct {
		ErrorCode    string `json:"error_code"`
		Message      string `json:"message"`
		ErrorMessage string `json:"error_message"`
		SubErrors    []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"sub_errors"`
	}
	refused := &StatusError{Status: status, Message: http.StatusText(status), After: retry.After(header, maxAfter)}
	if json.Unmarshal(answer, &body) != nil {
		return refused
	}
	refused.Code = body.ErrorCode
	refused.Message = cmp.Or(body.ErrorMessage, body.Message, refused.Message)
	var wrong []string
	for _, field := range body.SubErrors {
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
