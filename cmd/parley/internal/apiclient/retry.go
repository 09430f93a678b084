package apiclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// maxAttempts is how often in a row something may get nowhere.
	maxAttempts = 9
	// initialBackoff and maxBackoff are how long is waited between two tries.
	initialBackoff = 250 * time.Millisecond
	maxBackoff     = 10 * time.Second
)

// CallWithRetry is Call for what may be asked for twice: where the server gives no
// answer, or cannot work now, it asks again for a while.
func (c *Client) CallWithRetry(ctx context.Context, method, path string, body, into any) error {
	return retry(ctx, func() (bool, error) { return false, c.Call(ctx, method, path, body, into) })
}

// backoff is how long to wait after so many failures in a row, the last of which is
// err: a while, or as long as the server asks for, and not as long as others do.
func backoff(failures int, err error) time.Duration {
	wait := min(initialBackoff<<failures, maxBackoff)
	wait = wait/2 + rand.N(wait/2)
	var refused *StatusError
	if errors.As(err, &refused) && refused.After > 0 {
		wait = max(wait, refused.After+rand.N(refused.After/4))
	}
	return wait
}

// retry tries until there is no error, or one that will not pass. It gives up
// when it has got nowhere several times in a row.
func retry(ctx context.Context, try func() (progressed bool, err error)) error {
	for failures := 0; ; failures++ {
		progressed, err := try()
		if progressed {
			failures = 0
		}
		if err == nil || !transient(err) || failures == maxAttempts-1 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backoff(failures, err)):
		}
	}
}

// transient reports whether what went wrong may go right a little later.
func transient(err error) bool {
	var stale *staleError
	status := Status(err)
	return errors.As(err, &stale) || Unavailable(err) || status >= http.StatusInternalServerError || status == http.StatusRequestTimeout
}
