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
	// maxAttempts is how many attempts in a row may fail.
	maxAttempts = 9
	// The pauses between attempts grow from initialBackoff to maxBackoff.
	initialBackoff = 250 * time.Millisecond
	maxBackoff     = 10 * time.Second
)

// CallWithRetry is Call for idempotent requests: it retries transient errors.
func (c *Client) CallWithRetry(ctx context.Context, method, path string, body, into any) error {
	return retry.Do(ctx, retryPolicy, func() error { return c.Call(ctx, method, path, body, into) })
}

// retryAfter returns Retry-After with jitter; 0 for none.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.After > 0 {
		return refused.After + rand.N(refused.After/4)
	}
	return 0
}

// retryPolicy returns up after several failures in a row.
var retryPolicy = retry.Policy{
	Initial: initialBackoff, Max: maxBackoff, Jitter: true, Tries: maxAttempts, Retryable: transient, After: retryAfter,
}

// transient reports whether a later attempt may succeed.
func transient(err error) bool {
	var stale *staleError
	status := Status(err)
	return errors.As(err, &stale) || Unavailable(err) || status >= http.StatusInternalServerError || status == http.StatusRequestTimeout
}
