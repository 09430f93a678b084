package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// idp stands in for an identity provider that rotates its keys, is slow, is
// down and talks nonsense on demand.
type idp struct {
	issuer string

	mu sync.Mutex
	// keys are what it publishes, each a JWK.
	keys []any
	// discovery and jwks, where set, answer instead of it.
	discovery, jwks http.HandlerFunc
	// delay is how long it takes to answer with its keys.
	delay time.Duration
	// down is whether connections to it are refused.
	down bool
	// attempts counts connections, fetches the answers with its keys.
	attempts, fetches int
	// active counts the calls under way.
	active atomic.Int32
}

// startIDP runs a provider on loopback.
func startIDP(t testing.TB, keys ...any) *idp {
	p := &idp{keys: keys}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.issuer = server.URL
	return p
}

// client reaches the provider over the network.
func (p *idp) client() *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := p.connect(); err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// memoryIDP makes a provider that is reached without a network, for a bubble of
// testing/synctest.
func memoryIDP(keys ...any) *idp {
	return &idp{issuer: "https://idp.example", keys: keys}
}

// memoryClient reaches the provider by a plain call.
func (p *idp) memoryClient() *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := p.connect(); err != nil {
			return nil, err
		}
		p.active.Add(1)
		defer p.active.Add(-1)
		answer := httptest.NewRecorder()
		p.ServeHTTP(answer, r)
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return answer.Result(), nil
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (p *idp) connect() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts++
	if p.down {
		return syscall.ECONNREFUSED
	}
	return nil
}

func (p *idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.mu.Lock()
		discovery := p.discovery
		p.mu.Unlock()
		if discovery != nil {
			discovery(w, r)
			return
		}
		answerJSON(w, map[string]string{"issuer": p.issuer, "jwks_uri": p.issuer + "/keys"})
	case "/keys":
		p.mu.Lock()
		p.fetches++
		jwks, delay, keys := p.jwks, p.delay, p.keys
		p.mu.Unlock()
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-r.Context().Done():
				return
			}
		}
		if jwks != nil {
			jwks(w, r)
			return
		}
		answerJSON(w, map[string]any{"keys": keys})
	default:
		http.NotFound(w, r)
	}
}

// set changes how the provider behaves.
func (p *idp) set(change func(*idp)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *idp) publish(keys ...any) { p.set(func(p *idp) { p.keys = keys }) }

func (p *idp) counts() (attempts, fetches int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts, p.fetches
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// nonsense are answers in place of a key set. Where there are keys in them, they
// are good ones, so that taking them shows.
func nonsense() map[string]http.HandlerFunc {
	good := string(must(json.Marshal(two().jwk())))
	set := `{"keys":[` + good + `]`
	return map[string]http.HandlerFunc{
		"500":            answer(http.StatusInternalServerError, set+"}"),
		"203":            answer(http.StatusNonAuthoritativeInfo, set+"}"),
		"404":            answer(http.StatusNotFound, "not here"),
		"a page":         answer(http.StatusOK, "<html>sign in</html>"),
		"cut off":        answer(http.StatusOK, set),
		"two documents":  answer(http.StatusOK, set+"}"+set+"}"),
		"a list":         answer(http.StatusOK, "["+good+"]"),
		"null":           answer(http.StatusOK, "null"),
		"no keys":        answer(http.StatusOK, "{}"),
		"empty":          answer(http.StatusOK, `{"keys":[]}`),
		"nothing usable": answer(http.StatusOK, `{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"two"},{"kty":"RSA"},7,null]}`),
		"too many keys":  answer(http.StatusOK, `{"keys":[`+strings.Repeat("{},", 100)+good+`]}`),
		"too large":      answer(http.StatusOK, set+"}"+strings.Repeat(" ", 1<<20)),
		"endless redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		},
	}
}
