package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"parley/storage"
)

const (
	codeInternal      = -32603
	codeInvalidParams = -32602
)

// maxFields is how many wrong fields one error lists.
const maxFields = 100

// rpcAnswers maps errors to JSON-RPC errors. The first match counts; all others are
// internal errors. The protocol's own errors come first: what they wrap is a cause.
var rpcAnswers = []struct {
	kind    error
	code    int
	reason  string
	message string
}{
	{a2a.ErrParseError, -32700, "PARSE_ERROR", "the request is not JSON"},
	{a2a.ErrInvalidRequest, -32600, "INVALID_REQUEST", "this is not a JSON-RPC request"},
	{a2a.ErrMethodNotFound, -32601, "METHOD_NOT_FOUND", "there is no such method"},
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
	{a2a.ErrUnauthenticated, -31401, "UNAUTHENTICATED", "it is not known who you are"},
	{a2a.ErrUnauthorized, -31403, "UNAUTHORIZED", "you may not do this"},
	{a2a.ErrInternalError, codeInternal, "INTERNAL_ERROR", internalMessage},

	{storage.ErrNotFound, -32001, "TASK_NOT_FOUND", "task not found"},
	{storage.ErrInvalid, codeInvalidParams, "INVALID_PARAMS", "the params are not valid"},
	{storage.ErrForbidden, -31403, "UNAUTHORIZED", "you may not do this"},
	{storage.ErrUnauthorized, -31401, "UNAUTHENTICATED", "it is not known who you are"},
	{storage.ErrTooMany, codeInternal, "RESOURCE_EXHAUSTED", "you have too much under way; try again when some of it is done"},
	{storage.ErrConflict, codeInternal, "INTERNAL_ERROR", "this was changed by somebody else just now; try again"},
	{storage.ErrUnavailable, codeInternal, "INTERNAL_ERROR", "something needed for this cannot be reached now; try again"},
	{context.DeadlineExceeded, codeInternal, "INTERNAL_ERROR", "this took too long; try again"},
}

const internalMessage = "something went wrong here; it has been logged under this request's id"

// retryAfter is the Retry-After header of refused requests, in seconds.
const retryAfter = "2"

// httpStatus gives the HTTP status of an error. It is 200 for errors of the protocol;
// overload is reported in HTTP too, for proxies and load balancers.
func httpStatus(err error) int {
	switch {
	case errors.Is(err, storage.ErrTooMany):
		return http.StatusTooManyRequests
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// rpcError is the error of a JSON-RPC response.
type rpcError struct {
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

func toRPCError(err error) *rpcError {
	failure := &rpcError{Code: codeInternal, Message: internalMessage}
	info := errorInfo{Type: errordetails.ErrorInfoType, Reason: "INTERNAL_ERROR", Domain: a2a.ProtocolDomain}
	for _, a := range rpcAnswers {
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

// fieldViolations gives the wrong fields of an error. An error that names none is one of
// the params.
func fieldViolations(err error, message string) []fieldViolation {
	stored, ok := errors.AsType[*storage.Error](err)
	if !ok || len(stored.Fields) == 0 {
		return []fieldViolation{{Field: "params", Description: message}}
	}
	var violations []fieldViolation
	for _, f := range stored.Fields[:min(len(stored.Fields), maxFields)] {
		violations = append(violations, fieldViolation{Field: shorten(f.Field), Description: f.Message})
	}
	return violations
}

// clientMessage gives the part of an error that is meant for the client, and its
// metadata; "" when there is none.
func clientMessage(err error) (string, map[string]string) {
	if protocol, ok := errors.AsType[*a2a.Error](err); ok {
		return protocol.Message, infoMetadata(protocol)
	}
	if stored, ok := errors.AsType[*storage.Error](err); ok {
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

// fail gives the JSON-RPC error, and logs internal errors.
func (t transport) fail(ctx context.Context, request rpcRequest, err error) *rpcError {
	if cause := context.Cause(ctx); errors.Is(cause, storage.ErrUnauthorized) {
		err = cause // the token ended during the request
	}
	failure := toRPCError(err)
	if failure.Code != codeInternal {
		return failure
	}
	level := slog.LevelError
	switch {
	case clientGone(ctx):
		level = slog.LevelDebug
	case isTemporary(err):
		level = slog.LevelWarn
	}
	t.Logger.Log(ctx, level, "A2A request failed",
		"agent_method", shorten(request.method), "rpc_id", shorten(string(request.id)), "error", err)
	return failure
}

// protocolErrors replaces the errors of a handler by those of the protocol, and logs
// internal ones.
type protocolErrors struct {
	a2asrv.PassthroughCallInterceptor
	transport transport
}

// After implements a2asrv.CallInterceptor.
func (p protocolErrors) After(ctx context.Context, call *a2asrv.CallContext, response *a2asrv.Response) error {
	if response.Err == nil {
		return nil
	}
	failure := p.transport.fail(ctx, rpcRequest{method: call.Method()}, response.Err)
	for _, answer := range rpcAnswers {
		if answer.code == failure.Code {
			refused := a2a.NewError(answer.kind, failure.Message)
			if failure.Code == codeInvalidParams {
				violations := fieldViolations(response.Err, failure.Message)
				refused = refused.WithTypedDetails(errordetails.NewTyped(badRequestType, map[string]any{"fieldViolations": violations}))
			}
			response.Err = refused
			break
		}
	}
	return nil
}

func isTemporary(err error) bool {
	return errors.Is(err, storage.ErrTooMany) || errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrConflict) ||
		errors.Is(err, context.DeadlineExceeded)
}

func clientGone(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.Canceled) }

// recovered calls a function and turns its panic into an error.
func recovered[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause)
		default:
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return call()
}
