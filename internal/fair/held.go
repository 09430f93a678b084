package fair

import "context"

type releaseKey struct{}

// WithRelease returns the context of a request that may hold a slot, with what releases it.
func WithRelease(ctx context.Context, release func()) context.Context {
	return context.WithValue(ctx, releaseKey{}, release)
}

// Release releases the slot that a request holds before the request ends, when it does not
// need it any more. It may be called more than once.
func Release(ctx context.Context) {
	if release, ok := ctx.Value(releaseKey{}).(func()); ok {
		release()
	}
}
