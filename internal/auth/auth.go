package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Config says what tokens are verified with. The authority is exactly one of:
// an identity provider (JWKSURL, or Issuer alone), Secret, LocalKey.
type Config struct {
	// Issuer is the required `iss`, "" for any. Without Secret it names an
	// OpenID Connect provider, whose keys are found by discovery unless JWKSURL
	// is set.
	Issuer string
	// JWKSURL is where the identity provider publishes its keys.
	JWKSURL string
	// Audience is the required `aud`, "" for any.
	Audience string
	// UsernameClaim is the one claim that names the user. When it is "", that
	// is preferred_username, or sub in a token without it.
	UsernameClaim string
	// Secret is shared with whoever signs the tokens, by HS256.
	Secret []byte
	// LocalKey is the key of the data folder, see LoadLocalKey.
	LocalKey []byte
	// Tokens knows users' own tokens. Required.
	Tokens Tokens
	// HTTPClient fetches from the identity provider; nil for a plain one.
	HTTPClient *http.Client
	// Log is told how the provider's keys fare; nil for slog.Default.
	Log *slog.Logger
	// Now is the clock that tokens are judged by; nil for time.Now.
	Now func() time.Time
}

// Authenticator verifies tokens. It can be used by many goroutines at once.
type Authenticator struct {
	authority     authority
	own           *ownTokens
	verified      cache
	usernameClaim string
	now           func() time.Time
	open          openRequests
	stop          func()
}

// New makes an Authenticator, which must be closed. It neither waits for an
// identity provider nor fails for one that cannot be reached: its keys are
// fetched in the background until there are some.
func New(cfg Config) (*Authenticator, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Tokens == nil {
		return nil, errors.New("auth: the store of users' own tokens is missing")
	}
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	a := &Authenticator{
		authority:     newAuthority(cfg),
		own:           newOwnTokens(cfg.Tokens, cfg.Now),
		usernameClaim: cfg.UsernameClaim,
		now:           cfg.Now,
	}
	var polling sync.WaitGroup
	polling.Go(func() { a.pollRevocations(ctx) })
	a.stop = func() {
		cancel()
		polling.Wait()
	}
	return a, nil
}

// verify finds out all that a token's text can tell.
func (a *Authenticator) verify(ctx context.Context, token string) (verified, error) {
	t, err := read(token)
	if err != nil {
		return verified{}, err
	}
	// Choosing by an unverified claim gives nothing away: whichever verifier is
	// chosen insists on its own key and algorithm.
	if t.issuer == ownIssuer {
		found, err := a.own.verify(ctx, t)
		found.keys = a.authority.keys()
		return found, err
	}
	claims, keys, err := a.authority.claims(ctx, t)
	if err != nil {
		return verified{}, err
	}
	name, err := username(claims, a.usernameClaim)
	if err != nil {
		return verified{}, err
	}
	return verified{username: name, expires: expiry(claims), keys: keys}, nil
}

// Close ends the work in the background. It can be called again.
func (a *Authenticator) Close() {
	a.stop()
	a.authority.close()
}
