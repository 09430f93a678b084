package page

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// originLimit is how long the page may wait to learn where uploads go.
const originLimit = 3 * time.Second

// uploads knows the origin that parts of uploads go to. It asks until it has been
// told, once at a time however many want to know.
type uploads struct {
	ask    func(ctx context.Context) (string, error) // nil where they come here
	asking singleflight.Group
	known  atomic.Pointer[string]
}

// origin gives it, or "" where there is none, or it cannot be told now: then an
// upload fails, and loading the page again helps.
func (u *uploads) origin(ctx context.Context) string {
	if u.ask == nil {
		return ""
	}
	if known := u.known.Load(); known != nil {
		return *known
	}
	told, err, _ := u.asking.Do("", func() (any, error) {
		// Others wait for it too, so it does not end with whoever came first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), originLimit)
		defer cancel()
		return u.ask(ctx)
	})
	if err != nil {
		return ""
	}
	origin := told.(string)
	u.known.Store(&origin)
	return origin
}
