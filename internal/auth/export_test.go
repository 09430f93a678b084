package auth

import (
	"context"

	"parley/storage"
)

// Authenticate returns the caller that a token's text speaks for.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (storage.Caller, error) {
	session, err := a.Session(ctx, token)
	return session.Caller, err
}
