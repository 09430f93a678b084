package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	refreshEvery = time.Hour
	minBackoff   = time.Second
	maxBackoff   = time.Minute
	// onDemandWait limits how long a request waits for keys.
	onDemandWait = 5 * time.Second
	// onDemandEvery and onDemandBurst limit how often requests cause a fetch, so that
	// invalid tokens cannot flood the provider.
	onDemandEvery = 10 * time.Second
	onDemandBurst = 3
)

// provider is an identity provider with published keys. One goroutine, run, fetches them:
// at intervals, and when a token is signed with an unknown key. Requests wait for it.
type provider struct {
	verifier verifier
	issuer   string
	jwksURL  string
	client   *http.Client
	log      *slog.Logger
	limiter  *rate.Limiter
	ctx      context.Context // ends run
	// fetched has the last valid keys, nil before the first.
	fetched atomic.Pointer[keySet]
	// discovered is the last discovery document, nil before the first.
	discovered atomic.Pointer[discovery]
	wake       chan struct{} // starts a refresh before its time

	mu sync.Mutex
	// pending is closed when the current or requested refresh ends; nil when there is none.
	pending chan struct{}
	failed  error // of the last refresh
}

func newProvider(ctx context.Context, cfg Config) *provider {
	return &provider{
		verifier: newVerifier(publicAlgorithms, cfg.Issuer, cfg.Audience, cfg.Now),
		issuer:   cfg.Issuer,
		jwksURL:  cfg.JWKSURL,
		client:   cfg.HTTPClient,
		log:      cfg.Log,
		limiter:  rate.NewLimiter(rate.Every(onDemandEvery), onDemandBurst),
		ctx:      ctx,
		wake:     make(chan struct{}, 1),
		pending:  make(chan struct{}),
	}
}

func (p *provider) keys() any { return p.fetched.Load() }

func (p *provider) claims(ctx context.Context, t unverified) (jwt.MapClaims, any, error) {
	return p.verify(ctx, p.verifier, t)
}

// verify is claims with the rules of another kind of token.
func (p *provider) verify(ctx context.Context, rules verifier, t unverified) (jwt.MapClaims, any, error) {
	keys, unreachable := p.newer(ctx, nil)
	if unreachable != nil {
		return nil, nil, unreachable
	}
	claims, err := rules.verify(t, keys.keyfunc)
	if err != nil && newKeyMightHelp(t, err) {
		fresh, unreachable := p.newer(ctx, keys)
		if unreachable != nil {
			return nil, nil, unreachable
		}
		if fresh != keys {
			keys = fresh
			claims, err = rules.verify(t, keys.keyfunc)
		}
	}
	if err != nil {
		return nil, nil, refuse(err)
	}
	return claims, keys, nil
}

// newKeyMightHelp reports whether a token may be signed with a newer key. A token that does
// not name its key was tried with all of them.
func newKeyMightHelp(t unverified, err error) bool {
	return errors.Is(err, errUnknownKey) || !t.named && errors.Is(err, jwt.ErrTokenSignatureInvalid)
}

// newer returns keys other than known, or known when the provider has no others. Concurrent
// requests share one fetch. ErrUnavailable when the last fetch failed: then it is unknown
// whether the key is valid.
func (p *provider) newer(ctx context.Context, known *keySet) (*keySet, error) {
	p.mu.Lock()
	if keys := p.fetched.Load(); keys != known {
		p.mu.Unlock()
		return keys, nil
	}
	if p.pending == nil && p.limiter.Allow() {
		p.pending = make(chan struct{})
		p.wake <- struct{}{}
	}
	pending := p.pending
	p.mu.Unlock()

	if pending != nil {
		if err := p.wait(ctx, pending); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return nil, unavailable(p.failed)
	}
	return p.fetched.Load(), nil
}

func (p *provider) wait(ctx context.Context, pending <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, onDemandWait, unavailable(fmt.Errorf("no keys within %v", onDemandWait)))
	defer cancel()
	select {
	case <-pending:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the identity provider's keys: %w", context.Cause(ctx))
	case <-p.ctx.Done():
		return unavailable(errors.New("closed"))
	}
}

// run refreshes the keys until the provider is closed.
func (p *provider) run() {
	backoff := minBackoff
	for {
		wait := backoff
		fetched := p.refresh()
		if fetched {
			wait, backoff = refreshEvery, minBackoff
		}
		// Up to a tenth less, so that replicas do not fetch at the same time.
		timer := time.NewTimer(wait - rand.N(wait/10))
		select {
		case <-p.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			// Only here, so that fetches for requests lengthen no wait.
			if !fetched {
				backoff = min(2*backoff, maxBackoff)
			}
		case <-p.wake:
			timer.Stop()
		}
	}
}

// refresh fetches the keys once and wakes the waiting requests. When it fails, the old keys
// stay.
func (p *provider) refresh() bool {
	p.begin()
	keys, err := p.fetch(p.ctx)

	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		if p.failed != nil || p.fetched.Load() == nil {
			p.log.Info("identity provider's keys fetched", "keys", len(keys.keys))
		}
		p.fetched.Store(keys)
	case p.ctx.Err() == nil:
		p.log.Warn("identity provider's keys not refreshed", "error", err, "kept", p.fetched.Load() != nil)
	}
	p.failed = err
	close(p.pending)
	p.pending = nil
	return err == nil
}

// begin makes requests from now on wait for this refresh.
func (p *provider) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		p.pending = make(chan struct{})
	}
	select {
	case <-p.wake:
	default:
	}
}
