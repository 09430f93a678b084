package auth_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/auth"
	"parley/internal/domain"
)

// memorySessions has one session at a time.
type memorySessions struct {
	*tokenStore
	mu      sync.Mutex
	session domain.WebSession
}

func (m *memorySessions) CreateWebSession(_ context.Context, session domain.WebSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = session
	return nil
}

func (m *memorySessions) WebSession(_ context.Context, id string, hash []byte) (domain.WebSession, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session.ID != id || !bytes.Equal(m.session.Hash, hash) {
		return domain.WebSession{}, domain.ErrNotFound
	}
	return m.session, nil
}

func (m *memorySessions) ClaimRefresh(_ context.Context, session *domain.WebSession, lease time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Before(m.session.RefreshingUntil) || now.Before(m.session.RetryAt) || !m.session.RefreshAt.Equal(session.RefreshAt) {
		return false, nil
	}
	m.session.RefreshingUntil = now.Add(lease)
	session.RefreshingUntil = m.session.RefreshingUntil
	return true, nil
}

func (m *memorySessions) RefreshWebSession(_ context.Context, session domain.WebSession) error {
	return m.replace(session, func() {
		m.session = session
		m.session.RefreshingUntil = time.Time{}
	})
}

func (m *memorySessions) EndWebSession(_ context.Context, session domain.WebSession) error {
	return m.replace(session, func() { m.session = domain.WebSession{} })
}

// replace changes a session whose claim is valid.
func (m *memorySessions) replace(session domain.WebSession, change func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session.ID != session.ID || !m.session.RefreshingUntil.Equal(session.RefreshingUntil) {
		return domain.ErrNotFound
	}
	change()
	return nil
}

func (m *memorySessions) DeleteToken(ctx context.Context, _ domain.Caller, _ string) error {
	return m.CreateWebSession(ctx, domain.WebSession{})
}

// signInProvider answers the token endpoint with what a test sets, with a new refresh token
// where that has one. It takes each refresh token once.
type signInProvider struct {
	*idp
	status  int
	answer  map[string]any
	asked   url.Values
	refresh string
	// requests counts the requests; wait, where set, is before the answer.
	requests int
	wait     func()
	// revoked is what the revocation endpoint was asked, which answers with revocation.
	revoked    *http.Request
	revocation int
}

func startSignIn(t *testing.T) (*signInProvider, *auth.Authenticator, *memorySessions) {
	t.Helper()
	p := &signInProvider{idp: startIDP(t, two().jwk()), status: http.StatusOK}
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if r.URL.Path == "/revoke" {
			p.revoked = r
			w.WriteHeader(p.revocation)
			return
		}
		p.asked = r.PostForm
		p.requests++
		if p.wait != nil {
			p.wait()
		}
		status, answer := p.status, maps.Clone(p.answer)
		if status == http.StatusOK && r.PostForm.Get("grant_type") == "refresh_token" && r.PostForm.Get("refresh_token") != p.refresh {
			status, answer = http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
		if answer["refresh_token"] != nil {
			p.refresh = rand.Text()
			answer["refresh_token"] = p.refresh
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(tokens.Close)
	p.discovery = func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]string{"issuer": p.issuer, "jwks_uri": p.issuer + "/keys", "authorization_endpoint": p.issuer + "/auth", "token_endpoint": tokens.URL,
			"revocation_endpoint": tokens.URL + "/revoke", "end_session_endpoint": p.issuer + "/logout"})
	}
	sessions := &memorySessions{tokenStore: newTokenStore()}
	return p, open(t, auth.Config{Issuer: p.issuer, ClientID: "page", Tokens: sessions, Sessions: sessions}), sessions
}

// tokens sets the answer of the token endpoint: an ID token with changed claims.
func (p *signInProvider) tokens(nonce string, changed map[string]any) {
	claims := map[string]any{"iss": p.issuer, "aud": "page", "sub": "carol", "nonce": nonce, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, changed)
	p.answer = map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 60, "refresh_token": "next one", "id_token": two().token(claims)}
}

// TestSignInRefusesIDTokens has a provider answer with ID tokens that are not for this sign-in.
func TestSignInRefusesIDTokens(t *testing.T) {
	t.Parallel()
	p, a, sessions := startSignIn(t)
	for name, changed := range map[string]map[string]any{
		"another audience": {"aud": "other"},
		"another party":    {"aud": []string{"page", "other"}, "azp": "other"},
		"another issuer":   {"iss": "https://evil.example"},
		"another nonce":    {"nonce": "stolen"},
		"no nonce":         {"nonce": nil},
		"expired":          {"exp": time.Now().Add(-time.Minute).Unix()},
		"no user":          {"sub": ""},
	} {
		_, request, err := a.BeginSignIn(t.Context(), "http://parley.test/auth/callback")
		if err != nil {
			t.Fatal(err)
		}
		p.tokens(request.Nonce, changed)
		if _, _, err := a.FinishSignIn(t.Context(), "http://parley.test/auth/callback", request, "code"); !errors.Is(err, domain.ErrUnauthorized) || sessions.session.ID != "" {
			t.Errorf("%s: %v", name, err)
		}
		if p.asked.Get("code_verifier") != request.Verifier || p.asked.Get("client_id") != "page" || p.asked.Has("client_secret") {
			t.Errorf("the provider is asked for tokens with %v", p.asked)
		}
	}
	p.answer = map[string]any{"access_token": "opaque", "token_type": "Bearer"}
	if _, _, err := a.FinishSignIn(t.Context(), "", auth.SignInRequest{}, "code"); !errors.Is(err, domain.ErrUnauthorized) {
		t.Errorf("no ID token: %v", err)
	}
}

// TestRefreshOfSession has the provider refresh a session, or not.
func TestRefreshOfSession(t *testing.T) {
	t.Parallel()
	invalid := map[string]any{"error": "invalid_grant"}
	for name, test := range map[string]struct {
		status  int
		answer  map[string]any
		changed map[string]any
		want    error // nil when the session continues
		ended   bool
	}{
		"new tokens":         {status: 200},
		"no ID token":        {status: 200, answer: map[string]any{"access_token": "x", "token_type": "Bearer", "expires_in": 60}},
		"refused":            {status: 400, answer: invalid, want: domain.ErrUnauthorized, ended: true},
		"refused with 403":   {status: 403, answer: invalid, want: domain.ErrUnauthorized, ended: true},
		"wrong secret":       {status: 400, answer: map[string]any{"error": "invalid_client", "error_description": "eyJsecret"}, want: domain.ErrUnavailable},
		"another user":       {status: 200, changed: map[string]any{"sub": "dave"}, want: domain.ErrUnauthorized, ended: true},
		"wrong token":        {status: 200, changed: map[string]any{"aud": "other"}, want: domain.ErrUnavailable},
		"another name":       {status: 200, changed: map[string]any{"preferred_username": "caroline"}},
		"no user":            {status: 200, changed: map[string]any{"sub": ""}, want: domain.ErrUnauthorized, ended: true},
		"expired token":      {status: 200, changed: map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, want: domain.ErrUnavailable},
		"unavailable":        {status: 503, answer: map[string]any{}, want: domain.ErrUnavailable},
		"no such client":     {status: 401, answer: map[string]any{"error": "invalid_client"}, want: domain.ErrUnavailable},
		"tokens of the past": {status: 200, answer: map[string]any{"access_token": "x", "token_type": "Bearer"}, want: domain.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, a, sessions := startSignIn(t)
			_, request, err := a.BeginSignIn(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			p.tokens(request.Nonce, nil)
			cookie, _, err := a.FinishSignIn(t.Context(), "", request, "code")
			if err != nil {
				t.Fatal(err)
			}
			first := p.refresh
			if bytes.Contains(sessions.session.Secrets, []byte(first)) || bytes.Contains(sessions.session.Hash, []byte(cookie)) {
				t.Error("the store can read the session")
			}
			sessions.session.RefreshAt = time.Now().Add(-time.Second)
			p.status = test.status
			if p.tokens("", test.changed); test.answer != nil {
				p.answer = test.answer
			}
			session, err := a.BrowserSession(t.Context(), cookie, "")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || (sessions.session.ID == "") != test.ended || err == nil && session.Caller.Username != "carol" {
				t.Errorf("%+v, %v, ended %v", session.Caller, err, sessions.session.ID == "")
			}
			if err != nil && strings.Contains(err.Error(), "eyJ") {
				t.Errorf("the error has the response: %v", err)
			}
			if got := p.asked; got.Get("grant_type") != "refresh_token" || got.Get("refresh_token") != first {
				t.Errorf("the provider is asked with %v", got)
			}
			if test.want == nil || test.ended {
				return
			}
			p.status = http.StatusOK
			p.tokens("", nil)
			asked := p.requests
			if _, err := a.BrowserSession(t.Context(), cookie, ""); !errors.Is(err, domain.ErrUnavailable) || p.requests != asked {
				t.Errorf("at once: %v, %d requests", err, p.requests-asked)
			}
			sessions.session.RetryAt = time.Now()
			if _, err := a.BrowserSession(t.Context(), cookie, ""); err != nil {
				t.Errorf("the next request: %v", err)
			}
		})
	}
	_, a, _ := startSignIn(t)
	for _, wrong := range []string{"", ".", "x.y", domain.NewID(), domain.NewID() + ".x"} {
		if _, err := a.BrowserSession(t.Context(), wrong, ""); !errors.Is(err, domain.ErrUnauthorized) {
			t.Errorf("the cookie %q: %v", wrong, err)
		}
	}
}

// TestRefreshOfAnotherProcess has a claim expire during the refresh: another process has
// refreshed the session meanwhile, and the provider refuses the older refresh token.
func TestRefreshOfAnotherProcess(t *testing.T) {
	t.Parallel()
	p, a, sessions := startSignIn(t)
	_, request, err := a.BeginSignIn(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	p.tokens(request.Nonce, nil)
	cookie, _, err := a.FinishSignIn(t.Context(), "", request, "code")
	if err != nil {
		t.Fatal(err)
	}
	sessions.session.RefreshAt = time.Now().Add(-time.Second)
	p.status, p.answer = http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
	p.wait = func() {
		sessions.mu.Lock()
		defer sessions.mu.Unlock()
		sessions.session.RefreshAt, sessions.session.RefreshingUntil = time.Now().Add(time.Hour), time.Time{}
	}
	if session, err := a.BrowserSession(t.Context(), cookie, ""); err != nil || session.Caller.Username != "carol" {
		t.Errorf("refreshed by another process: %v", err)
	}

	// While another process refreshes it, a request waits and the provider is not asked.
	p.requests = 0
	sessions.session.RefreshAt, sessions.session.RefreshingUntil = time.Now().Add(-time.Second), time.Now().Add(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := a.BrowserSession(ctx, cookie, ""); !errors.Is(err, context.DeadlineExceeded) || p.requests != 0 {
		t.Errorf("during the refresh: %v, %d requests", err, p.requests)
	}
	sessions.mu.Lock()
	sessions.session.RefreshAt = time.Now().Add(time.Hour)
	sessions.mu.Unlock()
	if _, err := a.BrowserSession(t.Context(), cookie, ""); err != nil {
		t.Errorf("after the refresh: %v", err)
	}
}

// TestSessionOfAnotherClient reads a session after the settings of the provider have changed.
func TestSessionOfAnotherClient(t *testing.T) {
	t.Parallel()
	p, a, sessions := startSignIn(t)
	_, request, err := a.BeginSignIn(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	p.tokens(request.Nonce, nil)
	cookie, _, err := a.FinishSignIn(t.Context(), "", request, "code")
	if err != nil {
		t.Fatal(err)
	}
	sessions.session.RefreshAt = time.Now().Add(-time.Second)
	p.requests = 0
	other := open(t, auth.Config{Issuer: p.issuer, ClientID: "other", Tokens: sessions, Sessions: sessions})
	if _, err := other.BrowserSession(t.Context(), cookie, ""); !errors.Is(err, domain.ErrUnauthorized) || sessions.session.ID != "" || p.requests != 0 {
		t.Errorf("with another client id: %v, %d requests", err, p.requests)
	}
}

// TestSignOutRevokes has the provider revoke the refresh token at sign-out, or fail to.
func TestSignOutRevokes(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "a b"} {
		for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
			p, _, sessions := startSignIn(t)
			a := open(t, auth.Config{Issuer: p.issuer, ClientID: "page", ClientSecret: secret, Tokens: sessions, Sessions: sessions})
			_, request, err := a.BeginSignIn(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			p.tokens(request.Nonce, nil)
			cookie, _, err := a.FinishSignIn(t.Context(), "", request, "code")
			if err != nil {
				t.Fatal(err)
			}
			p.revocation = status
			address, err := a.SignOut(t.Context(), cookie, "", "http://parley.test/")
			if err != nil || !strings.HasPrefix(address, p.issuer+"/logout?") || sessions.session.ID != "" {
				t.Errorf("revocation %d: %s, %v, %+v", status, address, err, sessions.session)
			}
			want := url.Values{"token": {p.refresh}, "token_type_hint": {"refresh_token"}}
			if secret == "" {
				want.Set("client_id", "page")
			}
			user, password, _ := p.revoked.BasicAuth()
			if got := p.revoked.PostForm; got.Encode() != want.Encode() || secret != "" && (user != "page" || password != url.QueryEscape(secret)) {
				t.Errorf("the revocation endpoint is asked with %v by %q, %q", got, user, password)
			}
		}
	}
}

// TestSessionEnds has a provider whose tokens are valid for a year, without a refresh token.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	p, a, _ := startSignIn(t)
	address, request, err := a.BeginSignIn(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(address); err != nil || u.Query().Get("scope") != "openid profile email" {
		t.Errorf("the provider is asked by %s", address)
	}
	for _, test := range []struct{ lifetime, want time.Duration }{{time.Hour, time.Hour}, {365 * 24 * time.Hour, 30 * 24 * time.Hour}} {
		p.tokens(request.Nonce, nil)
		delete(p.answer, "refresh_token")
		p.answer["expires_in"] = test.lifetime.Seconds()
		_, expires, err := a.FinishSignIn(t.Context(), "", request, "code")
		if err != nil || time.Until(expires) > test.want || time.Until(expires) < test.want-time.Minute {
			t.Errorf("tokens for %v: it ends at %v, %v", test.lifetime, expires, err)
		}
	}
}
