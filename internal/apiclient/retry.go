package apiclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// tries is how often in a row something may get nowhere.
	tries = 9
	// firstWait and longestWait are how long is waited between two tries.
	firstWait   = 250 * time.Millisecond
	longestWait = 10 * time.Second
)

// CallPatiently is Call for what may be asked for twice: where the server gives no
// answer, or cannot work now, it asks again for a while.
func (c *Client) CallPatiently(ctx context.Context, method, path string, body, into any) error {
	return patiently(ctx, func() (bool, error) { return false, c.Call(ctx, method, path, body, into) })
}

// pause is how long to wait after so many failures in a row, the last of which is
// err: a while, or as long as the server asks for, and not as long as others do.
func pause(failures int, err error) time.Duration {
	wait := min(firstWait<<failures, longestWait)
	wait = wait/2 + rand.N(wait/2)
	var refused *StatusError
	if errors.As(err, &refused) && refused.After > 0 {
		wait = max(wait, refused.After+rand.N(refused.After/4))
	}
	return wait
}

// patiently tries until there is no error, or one that will not pass. It gives up
// when it has got nowhere several times in a row.
func patiently(ctx context.Context, try func() (further bool, err error)) error {
	for failures := 0; ; failures++ {
		further, err := try()
		if further {
			failures = 0
		}
		if err == nil || !passing(err) || failures == tries-1 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause(failures, err)):
		}
	}
}

// passing reports whether what went wrong may go right a little later.
func passing(err error) bool {
	var stale *staleError
	status := Status(err)
	return errors.As(err, &stale) || Unavailable(err) || status >= http.StatusInternalServerError || status == http.StatusRequestTimeout
}
