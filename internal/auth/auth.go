// Package auth authenticates requests: it verifies their bearer tokens and returns their
// users.
//
// Tokens come from one authority, set by configuration: an identity provider with published
// keys, a shared secret, or a local key in the data folder. Users' own tokens are accepted
// in addition to these. With an identity provider, browsers can sign in and have a session.
// Without one, users can let applications get tokens of their own: see authorize.go.
// Each kind of token has fixed algorithms and keys: nothing that a token says about itself
// widens what is accepted.
//
// The store decides what a user may do, and has the records of users' own tokens. An error
// has a domain.Error with the text for the client.
package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/internal/domain"
	"parley/internal/lru"
	"parley/internal/safehttp"
)

// Config has what tokens are verified with. The authority is exactly one of: an identity
// provider (JWKSURL, or Issuer alone), Secret, LocalKey.
type Config struct {
	// Issuer is the required `iss`, "" for any. Without Secret it is an OpenID Connect
	// provider, whose keys are discovered unless JWKSURL is set.
	Issuer string
	// JWKSURL is the URL of the identity provider's keys.
	JWKSURL string
	// Audience is the required `aud`, "" for any.
	Audience string
	// UsernameClaim is the claim with the username; when "", preferred_username, or sub in
	// a token without it.
	UsernameClaim string
	// Claims are those whose values shares and row rules use: the first has the user's groups.
	Claims []string
	// Secret is shared with the signer of the tokens, by HS256.
	Secret []byte
	// LocalKey is the key of the data folder, see LoadLocalKey.
	LocalKey []byte
	// ClientID is what Parley is called by the identity provider; with it and an Issuer,
	// browsers can sign in. ClientSecret is "" for a public client.
	ClientID, ClientSecret string
	// Sessions has the sessions of these browsers.
	Sessions Sessions
	// Tokens has the records of users' own tokens. Required.
	Tokens Tokens
	// Authorizations has what users allow applications; nil for no authorization server. It has no
	// effect with an identity provider.
	Authorizations Authorizations
	// Users records what tokens say about users; nil to record nothing.
	Users Users
	// HTTPClient calls the identity provider; nil for a plain one.
	HTTPClient *http.Client
	// Log is for the refresh of the provider's keys; nil for slog.Default.
	Log *slog.Logger
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// authority verifies the tokens of others.
type authority interface {
	// claims returns the claims of a token with a valid signature, times, issuer and
	// audience, and the keys that it was verified with.
	claims(ctx context.Context, t unverified) (claims jwt.MapClaims, keys any, err error)
	// keys returns a comparable value for the current keys.
	keys() any
}

// cacheSize limits the verified tokens in memory.
const cacheSize = 4096

// verified is what a token's text proves.
type verified struct {
	username string
	ownID    string // the id of a user's own token, which has no username
	expires  time.Time
	keys     any // the token is cached as long as these are the current keys
}

// Authenticator verifies tokens. It is safe for concurrent use.
type Authenticator struct {
	authority authority
	own       *ownTokens
	signIn    *signIn // nil where browsers cannot sign in
	// authorizations is nil without an authorization server. documents fetches what describes an
	// application.
	authorizations Authorizations
	documents      *http.Client
	clientKey      storedKey
	// verified has tokens by their hash: to verify one takes longer than most operations.
	verified      *lru.Cache[[sha256.Size]byte, verified]
	usernameClaim string
	users         *userClaims
	now           func() time.Time
	open          sync.Map // *context.CancelCauseFunc of a request → id of its token
	cancel        context.CancelFunc
	background    sync.WaitGroup
}

// New returns an Authenticator, which must be closed. It does not wait for an identity
// provider: keys are fetched in the background until there are some.
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
		own: newOwnTokens(cfg.Tokens, cfg.Now), verified: lru.New[[sha256.Size]byte, verified](cacheSize),
		usernameClaim: cfg.UsernameClaim, users: newUserClaims(cfg), now: cfg.Now, cancel: cancel,
	}
	a.background.Go(func() { a.pollRevocations(ctx) })
	if cfg.provider() {
		p := newProvider(ctx, cfg)
		a.authority = p
		a.background.Go(p.run)
		if cfg.SignsIn() {
			a.signIn = newSignIn(p, cfg, a.users)
		}
	} else {
		a.authority = newSharedKey(cfg)
		a.clientKey.store, a.clientKey.purpose = cfg.Tokens, domain.KeyForClients
		a.authorizations, a.documents = cfg.Authorizations, safehttp.NewClient(safehttp.Config{Timeout: documentTimeout})
	}
	return a, nil
}

// Close ends the work in the background. It can be called again.
func (a *Authenticator) Close() {
	a.cancel()
	a.background.Wait()
}

// verify returns all that a token's text proves.
func (a *Authenticator) verify(ctx context.Context, token string) (verified, error) {
	t, err := parse(token)
	if err != nil {
		return verified{}, err
	}
	// It is safe to choose by an unverified claim: each verifier requires its own key and
	// algorithm.
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
	return verified{username: name, expires: expiry(claims), keys: keys}, a.users.record(ctx, name, claims)
}

type callerKey struct{}

// WithCaller returns a context with a caller.
func WithCaller(ctx context.Context, caller domain.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerFrom returns the caller of a context.
func CallerFrom(ctx context.Context) (domain.Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(domain.Caller)
	return caller, ok
}
