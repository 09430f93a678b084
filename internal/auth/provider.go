package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	// onDemandWait is the longest that a request waits for keys.
	onDemandWait = 5 * time.Second
	// onDemandEvery and onDemandBurst bound how often requests can have the
	// keys fetched, so that made-up tokens cannot flood the provider. A key that
	// appears is at worst refused for that long.
	onDemandEvery = 10 * time.Second
	onDemandBurst = 3
)

// provider is an identity provider with published keys. One goroutine fetches
// them, now and then and when a token is signed with a key not seen before;
// requests only ever wait for it.
type provider struct {
	verifier verifier
	issuer   string
	jwksURL  string
	client   *http.Client
	log      *slog.Logger
	limiter  *rate.Limiter

	// fetched are the last good keys, nil before the first.
	fetched atomic.Pointer[keySet]
	// wake has the keys fetched before their time.
	wake chan struct{}

	mu sync.Mutex
	// pending is closed when the refresh that is under way or asked for ends;
	// nil when there is none.
	pending chan struct{}
	// failed is why the last refresh brought nothing, nil when it did.
	failed error

	life    context.Context
	end     context.CancelFunc
	stopped chan struct{}
}

func newProvider(cfg Config) *provider {
	life, end := context.WithCancel(context.Background())
	p := &provider{
		verifier: newVerifier(publicAlgorithms, cfg.Issuer, cfg.Audience, cfg.Now),
		issuer:   cfg.Issuer,
		jwksURL:  cfg.JWKSURL,
		client:   cfg.HTTPClient,
		log:      cfg.Log,
		limiter:  rate.NewLimiter(rate.Every(onDemandEvery), onDemandBurst),
		wake:     make(chan struct{}, 1),
		pending:  make(chan struct{}),
		life:     life,
		end:      end,
		stopped:  make(chan struct{}),
	}
	go p.run()
	return p
}

func (p *provider) close() {
	p.end()
	<-p.stopped
}

func (p *provider) keys() any { return p.fetched.Load() }

func (p *provider) claims(ctx context.Context, t unverified) (jwt.MapClaims, any, error) {
	keys := p.fetched.Load()
	if keys == nil {
		var err error
		if keys, err = p.newer(ctx, nil); err != nil {
			return nil, nil, err
		}
	}
	claims, err := p.verifier.verify(t, keys.keyfunc(ctx))
	if err == nil {
		return claims, keys, nil
	}
	if !newKeyMightHelp(t, err) {
		return nil, nil, refuse(err)
	}
	fresh, unreachable := p.newer(ctx, keys)
	if unreachable != nil {
		return nil, nil, unreachable
	}
	if fresh == keys {
		return nil, nil, refuse(err)
	}
	if claims, err = p.verifier.verify(t, fresh.keyfunc(ctx)); err != nil {
		return nil, nil, refuse(err)
	}
	return claims, fresh, nil
}

// newKeyMightHelp reports whether a token may be signed with a key that has been
// published since. One that does not name its key shows that only by failing
// with all of them.
func newKeyMightHelp(t unverified, err error) bool {
	return errors.Is(err, errUnknownKey) || !t.named && errors.Is(err, jwt.ErrTokenSignatureInvalid)
}

// newer gives keys that are newer than those known, or the same where the
// provider was asked just now and had no others. Requests that come together
// share one fetch. ErrUnavailable when the provider, last asked, did not
// answer well: then nobody can say whether the key is one of its own.
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
	timer := time.NewTimer(onDemandWait)
	defer timer.Stop()
	select {
	case <-pending:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the identity provider's keys: %w", context.Cause(ctx))
	case <-timer.C:
		return unavailable(fmt.Errorf("no keys within %v", onDemandWait))
	case <-p.life.Done():
		return unavailable(errors.New("closed"))
	}
}
