package fair

import "context"

type userKey struct{}

// WithUser returns the context of work that is done for a user.
func WithUser(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, userKey{}, name)
}

// User returns whom the work of a context is done for, "" if for nobody in particular.
func User(ctx context.Context) string {
	name, _ := ctx.Value(userKey{}).(string)
	return name
}

// Take waits for a slot for the user of a context. It is never refused, for work that was
// accepted before. release may be called twice.
func (q *Queue) Take(ctx context.Context) (release func(), err error) {
	slot := q.AcquireUnbounded(User(ctx))
	return slot.Release, slot.Wait(ctx)
}
