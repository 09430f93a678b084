package domain

import (
	"errors"
	"fmt"
)

// The kinds of errors that a caller may see. All other errors are internal.
var (
	// ErrNotFound says that something does not exist, or that the caller may not see it.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the current state does not allow the change.
	ErrConflict = errors.New("conflict")
	// ErrInvalid says that a request breaks a rule.
	ErrInvalid = errors.New("invalid")
	// ErrForbidden says that the caller may see something, but not do this to it.
	ErrForbidden = errors.New("forbidden")
	// ErrUnauthorized says that it is not known who the caller is.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrUnavailable says that a dependency cannot be reached now.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooMany says that the caller has too many requests or jobs.
	ErrTooMany = errors.New("too many")
	// ErrTracing says that the tracing store cannot be reached now, or failed.
	ErrTracing = errors.New("tracing store unavailable")
	// ErrMessageSent says that the message has already created a run.
	ErrMessageSent = errors.New("message sent before")
	// ErrRunNotCompleted says that this can only be done to a completed run.
	ErrRunNotCompleted = errors.New("run not completed")
)

// ErrNoConversation is the ErrNotFound of a conversation.
var ErrNoConversation = fmt.Errorf("conversation: %w", ErrNotFound)

// ErrDamaged says that a file of a dataset is not the recorded one, or missing. It is an
// ErrUnavailable.
var ErrDamaged = Errorf(ErrUnavailable, "a file of the dataset is missing or damaged: its rows cannot be read, and none can be added; "+
	"the operator must restore the file from a backup, or the owner replace the rows")

// Error is an error with a text for the caller. Err is one of the kinds above and decides
// the status of the response.
type Error struct {
	Err     error
	Message string
	Fields  []FieldError
}

// FieldError says what is wrong with one field of a request.
type FieldError struct {
	Field   string
	Message string
}

// Errorf makes an Error of one kind.
func Errorf(kind error, format string, args ...any) *Error {
	return &Error{Err: kind, Message: fmt.Sprintf(format, args...)}
}

func (f FieldError) String() string { return f.Field + " " + f.Message }

// Invalid makes an ErrInvalid that lists every wrong field.
func Invalid(fields ...FieldError) *Error {
	message := fields[0].String()
	if len(fields) > 1 {
		message += "; and more"
	}
	return &Error{Err: ErrInvalid, Message: message, Fields: fields}
}

// At names the field that the message is about.
func (e *Error) At(field string) *Error {
	e.Fields = append(e.Fields, FieldError{Field: field, Message: e.Message})
	return e
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }
