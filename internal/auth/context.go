package auth

import (
	"context"

	"parley/storage"
)

type callerKey struct{}

// WithCaller gives a context that carries who is calling.
func WithCaller(ctx context.Context, caller storage.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerFrom gives the caller that a context carries, false when it carries
// none.
func CallerFrom(ctx context.Context) (storage.Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(storage.Caller)
	return caller, ok
}
