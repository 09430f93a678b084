package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"parley/internal/domain"
	"parley/internal/fair"
)

// revocationPoll is the interval of queries for revoked tokens among those in use.
const (
	revocationPoll    = time.Second
	revocationTimeout = 10 * time.Second
)

// Session is a token that was verified for one request.
type Session struct {
	Caller  domain.Caller
	auth    *Authenticator
	tokenID string // of a user's own token; "" for others
	expires time.Time
}

// Session verifies the token of a request.
func (a *Authenticator) Session(ctx context.Context, token string) (Session, error) {
	hash := sha256.Sum256([]byte(token))
	keys := a.authority.keys()
	found, ok := a.verified.Get(hash)
	var err error
	if !ok || found.keys != keys || !a.now().Before(found.expires) {
		if found, err = a.verify(ctx, token); err != nil {
			return Session{}, err
		}
		a.verified.Put(hash, found, 1)
	}
	session := Session{Caller: domain.Caller{Username: found.username}, auth: a, tokenID: found.ownID, expires: found.expires}
	if found.ownID != "" {
		session.Caller, err = a.own.caller(ctx, found.ownID, hash[:])
	}
	return session, err
}

// Context returns a context that also ends when a user's own token is revoked or expires;
// its cause is then ErrUnauthorized. The tokens of an authority are valid until their
// request ends. The work of the context is done for the caller: see fair.User. The function
// releases the context.
func (s Session) Context(ctx context.Context) (context.Context, func()) {
	ctx = fair.WithUser(ctx, s.Caller.Username)
	if s.tokenID == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.expires.Sub(s.auth.now()), func() {
		cancel(unauthorized("the token has expired", errors.New("expired during the request")))
	})
	s.auth.open.Store(&cancel, s.tokenID)
	return ctx, func() {
		timer.Stop()
		s.auth.open.Delete(&cancel)
		cancel(nil)
	}
}

// EndRequests ends the requests of a revoked token on this replica, without waiting for the
// poll.
func (a *Authenticator) EndRequests(tokenID string) {
	for cancel, id := range a.open.Range {
		if id == tokenID {
			(*cancel.(*context.CancelCauseFunc))(unauthorized("the token has been revoked", errors.New("revoked during the request")))
		}
	}
}

// pollRevocations ends the requests of revoked tokens, until ctx ends.
func (a *Authenticator) pollRevocations(ctx context.Context) {
	ticker := time.NewTicker(revocationPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.endRevoked(ctx)
		}
	}
}

func (a *Authenticator) endRevoked(ctx context.Context) {
	var ids []string
	for _, id := range a.open.Range {
		ids = append(ids, id.(string))
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, revocationTimeout)
	defer cancel()
	revoked, err := a.own.store.RevokedTokens(ctx, ids)
	if err != nil {
		return // requests that meet the same failure log it
	}
	for _, id := range revoked {
		a.EndRequests(id)
	}
}
