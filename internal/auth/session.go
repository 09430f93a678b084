package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/storage"
)

// revocationPoll is how often the store is asked which of the tokens in use were
// revoked, on this replica or another. revocationTimeout is how long that may
// take.
const (
	revocationPoll    = time.Second
	revocationTimeout = 10 * time.Second
)

// Session is a token that was verified for one request.
type Session struct {
	Caller  storage.Caller
	auth    *Authenticator
	tokenID string // of a user's own token; "" for others
	expires time.Time
}

// Session is Authenticate for a request that may take long.
func (a *Authenticator) Session(ctx context.Context, token string) (Session, error) {
	hash := sha256.Sum256([]byte(token))
	found, ok := a.verified.get(hash, a.authority.keys(), a.now())
	if !ok {
		var err error
		if found, err = a.verify(ctx, token); err != nil {
			return Session{}, err
		}
		a.verified.put(hash, found)
	}
	session := Session{Caller: storage.Caller{Username: found.username}, auth: a, tokenID: found.ownID, expires: found.expires}
	if found.ownID != "" {
		var err error
		if session.Caller, err = a.own.caller(ctx, found.ownID, hash[:]); err != nil {
			return Session{}, err
		}
	}
	return session, nil
}

// Context gives a context that also ends when a user's own token is revoked or
// expires; its cause is then ErrUnauthorized. The tokens of an authority last
// for the request that they came with. The function releases it.
func (s Session) Context(ctx context.Context) (context.Context, func()) {
	if s.tokenID == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.expires.Sub(s.auth.now()), func() {
		cancel(unauthorized("the token has expired", errors.New("expired during the request")))
	})
	remove := s.auth.open.add(s.tokenID, cancel)
	return ctx, func() {
		timer.Stop()
		remove()
		cancel(nil)
	}
}

// EndRequests ends the requests of a token that was revoked, on this replica; it
// is a shortcut for what the poll finds.
func (a *Authenticator) EndRequests(tokenID string) {
	a.open.end(tokenID, unauthorized("the token has been revoked", errors.New("revoked during the request")))
}

// openRequests are the requests in progress with users' own tokens, by the id of
// the token.
type openRequests struct {
	mu      sync.Mutex
	byToken map[string]map[*context.CancelCauseFunc]struct{}
}

func (o *openRequests) add(tokenID string, cancel context.CancelCauseFunc) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byToken == nil {
		o.byToken = map[string]map[*context.CancelCauseFunc]struct{}{}
	}
	if o.byToken[tokenID] == nil {
		o.byToken[tokenID] = map[*context.CancelCauseFunc]struct{}{}
	}
	o.byToken[tokenID][&cancel] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if delete(o.byToken[tokenID], &cancel); len(o.byToken[tokenID]) == 0 {
			delete(o.byToken, tokenID)
		}
	}
}

func (o *openRequests) end(tokenID string, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for cancel := range o.byToken[tokenID] {
		(*cancel)(cause)
	}
}

func (o *openRequests) tokens() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.byToken))
}

// pollRevocations ends the requests of tokens that were revoked, until ctx ends.
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
	ids := a.open.tokens()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, revocationTimeout)
	defer cancel()
	revoked, err := a.own.store.RevokedTokens(ctx, ids)
	if err != nil {
		return // the store's failures are logged with the requests that meet them
	}
	for _, id := range revoked {
		a.EndRequests(id)
	}
}
