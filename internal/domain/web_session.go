package domain

import "time"

// WebSession is the session of a browser: a token of its user, whose text is the cookie.
type WebSession struct {
	NewToken
	Owner string
	// Secrets are the provider's tokens, encrypted.
	Secrets []byte
	// RefreshAt is when the session must be refreshed with the provider.
	RefreshAt time.Time
	// RefreshingUntil is the end of the current claim to refresh it, and identifies the claim.
	RefreshingUntil time.Time
	// RetryAt is when it may be refreshed again after a failure.
	RetryAt time.Time
}
