package auth

import (
	"context"

	"parley/storage"
)

type callerKey struct{}

// WithCaller gives a context in which a caller acts.
func WithCaller(ctx context.Context, caller storage.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerFrom gives who acts in a context.
func CallerFrom(ctx context.Context) (storage.Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(storage.Caller)
	return caller, ok
}
