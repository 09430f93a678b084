package jsonrpc

import (
	"context"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"parley/internal/domain"
)

const (
	// CodeInternal is the code of an error that is not the client's.
	CodeInternal      = -32603
	codeInvalidParams = -32602
)

const (
	// maxFields is how many wrong fields one error lists.
	maxFields = 100
	// maxField limits the name of one, which may be a client's text, in bytes.
	maxField = 64
)

// answers maps errors to JSON-RPC errors. The first match counts; all others are
// internal errors. The protocol's own errors come first: what they wrap is a cause.
var answers = []struct {
	kind    error
	code    int
	reason  string
	message string
}{
	{a2a.ErrParseError, -32700, "PARSE_ERROR", "the request is not JSON"},
	{a2a.ErrInvalidRequest, -32600, "INVALID_REQUEST", "this is not a JSON-RPC request"},
	{a2a.ErrMethodNotFound, -32601, "METHOD_NOT_FOUND", "unknown method"},
	{a2a.ErrInvalidParams, codeInvalidParams, "INVALID_PARAMS", "the params are not valid"},
	{a2a.ErrTaskNotFound, -32001, "TASK_NOT_FOUND", "task not found"},
	{a2a.ErrTaskNotCancelable, -32002, "TASK_NOT_CANCELABLE", "the task has ended and cannot be canceled"},
	{a2a.ErrPushNotificationNotSupported, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", "push notifications are not supported"},
	{a2a.ErrUnsupportedOperation, -32004, "UNSUPPORTED_OPERATION", "this is not supported"},
	{a2a.ErrUnsupportedContentType, -32005, "CONTENT_TYPE_NOT_SUPPORTED", "these content types are not supported"},
	{a2a.ErrInvalidAgentResponse, -32006, "INVALID_AGENT_RESPONSE", "the agent gave no valid answer"},
	{a2a.ErrExtendedCardNotConfigured, -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "this agent has no extended card"},
	{a2a.ErrExtensionSupportRequired, -32008, "EXTENSION_SUPPORT_REQUIRED", "an extension is required"},
	{a2a.ErrVersionNotSupported, -32009, "VERSION_NOT_SUPPORTED", "this version of the protocol is not supported"},
	{a2a.ErrUnauthenticated, -31401, "UNAUTHENTICATED", "a valid bearer token is required"},
	{a2a.ErrUnauthorized, -31403, "UNAUTHORIZED", "you may not do this"},
	{a2a.ErrInternalError, CodeInternal, "INTERNAL_ERROR", internalMessage},

	{domain.ErrNotFound, -32001, "TASK_NOT_FOUND", "task not found"},
	{domain.ErrInvalid, codeInvalidParams, "INVALID_PARAMS", "the params are not valid"},
	{domain.ErrForbidden, -31403, "UNAUTHORIZED", "you may not do this"},
	{domain.ErrUnauthorized, -31401, "UNAUTHENTICATED", "a valid bearer token is required"},
	{domain.ErrTooMany, CodeInternal, "RESOURCE_EXHAUSTED", "you have too many requests in progress; try again later"},
	{domain.ErrConflict, CodeInternal, "INTERNAL_ERROR", "another request changed this; try again"},
	{domain.ErrUnavailable, CodeInternal, "INTERNAL_ERROR", "something needed for this cannot be reached now; try again"},
	{context.DeadlineExceeded, CodeInternal, "INTERNAL_ERROR", "this took too long; try again"},
}

const internalMessage = "internal error; the server logged it with the id of this request"

// HTTPStatus returns the HTTP status of an error. It is 200 for errors of the protocol;
// overload is reported in HTTP too, for proxies and load balancers.
func HTTPStatus(err error) int {
	switch {
	case errors.Is(err, domain.ErrTooMany):
		return http.StatusTooManyRequests
	case errors.Is(err, domain.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// Error is the error of a JSON-RPC response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data has an errorInfo and, for wrong fields, a badRequest.
	Data []any `json:"data"`
}

// errorInfo is a google.rpc.ErrorInfo.
type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// badRequest is a google.rpc.BadRequest.
type badRequest struct {
	Type            string           `json:"@type"`
	FieldViolations []fieldViolation `json:"fieldViolations"`
}

type fieldViolation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

const badRequestType = "type.googleapis.com/google.rpc.BadRequest"

// ToError returns the answer to an error. Internal ones do not say what happened.
func ToError(err error) *Error {
	failure := &Error{Code: CodeInternal, Message: internalMessage}
	info := errorInfo{Type: errordetails.ErrorInfoType, Reason: "INTERNAL_ERROR", Domain: a2a.ProtocolDomain}
	for _, a := range answers {
		if errors.Is(err, a.kind) {
			failure.Code, info.Reason, failure.Message = a.code, a.reason, a.message
			if message, metadata := clientMessage(err); message != "" {
				failure.Message, info.Metadata = message, metadata
			}
			break
		}
	}
	failure.Data = []any{info}
	if failure.Code == codeInvalidParams {
		failure.Data = append(failure.Data, badRequest{Type: badRequestType, FieldViolations: fieldViolations(err, failure.Message)})
	}
	return failure
}

// fieldViolations returns the wrong fields of an error. An error that names none is one of
// the params.
func fieldViolations(err error, message string) []fieldViolation {
	stored, ok := errors.AsType[*domain.Error](err)
	if !ok || len(stored.Fields) == 0 {
		return []fieldViolation{{Field: "params", Description: message}}
	}
	var violations []fieldViolation
	for _, f := range stored.Fields[:min(len(stored.Fields), maxFields)] {
		violations = append(violations, fieldViolation{Field: domain.Truncate(f.Field, maxField), Description: f.Message})
	}
	return violations
}

// clientMessage returns the part of an error that is meant for the client, and its
// metadata; "" when there is none.
func clientMessage(err error) (string, map[string]string) {
	if protocol, ok := errors.AsType[*a2a.Error](err); ok {
		return protocol.Message, infoMetadata(protocol)
	}
	if stored, ok := errors.AsType[*domain.Error](err); ok {
		return stored.Message, nil
	}
	return "", nil
}

// infoMetadata reads the metadata without Error.ErrorInfo, which would modify a shared
// error.
func infoMetadata(err *a2a.Error) map[string]string {
	for _, detail := range err.TypedDetails {
		if detail.TypeURL == errordetails.ErrorInfoType {
			metadata, _ := detail.Value["metadata"].(map[string]string)
			return metadata
		}
	}
	return nil
}
