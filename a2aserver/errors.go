package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"parley/a2aserver/jsonrpc"
	"parley/internal/domain"
)

// maxShortened limits what an answer or a log line repeats of a client's text.
const maxShortened = 64

// shorten limits a client's text for an answer or a log line.
func shorten(text string) string { return domain.Truncate(text, maxShortened) }

// fail returns the JSON-RPC error, and logs internal errors.
func (t transport) fail(ctx context.Context, request jsonrpc.Request, err error) *jsonrpc.Error {
	if cause := context.Cause(ctx); errors.Is(cause, domain.ErrUnauthorized) {
		err = cause // the token ended during the request
	}
	failure := jsonrpc.ToError(err)
	if failure.Code != jsonrpc.CodeInternal {
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
		"agent_method", shorten(request.Method), "rpc_id", shorten(string(request.ID)), "error", err)
	return failure
}

func isTemporary(err error) bool {
	return errors.Is(err, domain.ErrTooMany) || errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrConflict) ||
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
