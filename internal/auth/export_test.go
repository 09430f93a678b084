package auth

import (
	"context"

	"parley/internal/domain"
)

// Authenticate returns the caller that a token's text speaks for.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (domain.Caller, error) {
	session, err := a.Session(ctx, token)
	return session.Caller, err
}
