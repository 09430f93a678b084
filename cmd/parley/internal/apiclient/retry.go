package apiclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"parley/internal/retry"
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
	return retry.Do(ctx, retryPolicy, func() error { return c.Call(ctx, method, path, body, into) })
}

// pauseAskedFor gives the pause of Retry-After, and not as long a one as others wait.
func pauseAskedFor(err error) time.Duration {
	var refused *StatusError
	if errors.As(err, &refused) && refused.After > 0 {
		return refused.After + rand.N(refused.After/4)
	}
	return 0
}

// retryPolicy gives up when it has got nowhere several times in a row.
var retryPolicy = retry.Policy{
	Initial: initialBackoff, Max: maxBackoff, Jitter: true, Tries: maxAttempts, Retryable: transient, After: pauseAskedFor,
}

// transient reports whether what went wrong may go right a little later.
func transient(err error) bool {
	var stale *staleError
	status := Status(err)
	return errors.As(err, &stale) || Unavailable(err) || status >= http.StatusInternalServerError || status == http.StatusRequestTimeout
}
