package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"parley/internal/domain"
	"parley/internal/seal"
)

const (
	// sessionTTL limits a session, however often it is refreshed.
	sessionTTL = 30 * 24 * time.Hour
	// refreshLease is how long one process refreshes a session, at most; others look for the
	// result at intervals of refreshPoll. After a failure none tries for refreshBackoff.
	refreshLease   = 3 * fetchTimeout
	refreshPoll    = 100 * time.Millisecond
	refreshBackoff = 5 * time.Second
	// maxSignOut limits the address of the sign-out at the provider, which is in a cookie.
	maxSignOut = 3500
	// sessionName is the name of sessions among a user's tokens.
	sessionName = "Sign-in on the page"
)

// Sessions has the sessions of browsers. Package sqlstore describes the methods.
type Sessions interface {
	CreateWebSession(ctx context.Context, session domain.WebSession) error
	WebSession(ctx context.Context, id string, hash []byte) (domain.WebSession, error)
	ClaimRefresh(ctx context.Context, session *domain.WebSession, lease time.Duration) (bool, error)
	RefreshWebSession(ctx context.Context, session domain.WebSession) error
	EndWebSession(ctx context.Context, session domain.WebSession) error
	DeleteToken(ctx context.Context, caller domain.Caller, id string) error
}

// signIn signs browsers in by the authorization code flow with PKCE. A cookie is the id of a
// session and a random text, of which the database has a hash. The provider's tokens are in
// the database, encrypted with a key from the cookie: only a request with the cookie can
// read them, on any replica.
type signIn struct {
	provider *provider
	idTokens verifier
	sessions Sessions
	client   oauth2.Config
	claim    string // with the username
	users    *userClaims
	now      func() time.Time
	// refreshes has the refreshes in progress here, by session.
	refreshes singleflight.Group
}

// secrets are the tokens of a provider in a session.
type secrets struct {
	Refresh string `json:"refresh,omitempty"`
	ID      string `json:"id"`
	Subject string `json:"subject"` // of the ID token; usernames can change
}

func newSignIn(p *provider, cfg Config, users *userClaims) *signIn {
	return &signIn{
		provider: p, idTokens: newVerifier(publicAlgorithms, cfg.Issuer, cfg.ClientID, cfg.Now), sessions: cfg.Sessions,
		client: oauth2.Config{ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret}, claim: cfg.UsernameClaim, users: users, now: cfg.Now,
	}
}

// Issuer is the identity provider that tokens come from; "" for none.
func (a *Authenticator) Issuer() string {
	if p, ok := a.authority.(*provider); ok && webAddress(p.issuer) {
		return p.issuer
	}
	return ""
}

// SignsIn reports whether browsers can sign in.
func (a *Authenticator) SignsIn() bool { return a.signIn != nil }

// SignInRequest is what the browser that signs in must bring back.
type SignInRequest struct{ State, Nonce, Verifier string }

// BeginSignIn returns the provider's address to which a browser is sent. The provider sends
// it to the redirect address.
func (a *Authenticator) BeginSignIn(ctx context.Context, redirect string) (address string, r SignInRequest, err error) {
	ctx, cancel := a.signIn.context(ctx)
	defer cancel()
	client, found, err := a.signIn.config(ctx, redirect)
	if err != nil {
		return "", r, err
	}
	client.Scopes = []string{"openid"}
	for i, scope := range []string{"profile", "email", "groups", "offline_access"} {
		// Most providers know the first two, also those that do not list their scopes.
		if slices.Contains(found.Scopes, scope) || found.Scopes == nil && i < 2 {
			client.Scopes = append(client.Scopes, scope)
		}
	}
	r = SignInRequest{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return client.AuthCodeURL(r.State, oauth2.S256ChallengeOption(r.Verifier), oauth2.SetAuthURLParam("nonce", r.Nonce)), r, nil
}

// FinishSignIn exchanges a code for a session, and returns its cookie and when it ends. The
// caller has compared the state.
func (a *Authenticator) FinishSignIn(ctx context.Context, redirect string, r SignInRequest, code string) (cookie string, expires time.Time, err error) {
	s := a.signIn
	ctx, cancel := s.context(ctx)
	defer cancel()
	client, _, err := s.config(ctx, redirect)
	if err != nil {
		return "", expires, err
	}
	token, err := client.Exchange(ctx, code, oauth2.VerifierOption(r.Verifier))
	if err != nil {
		return "", expires, exchangeError("the identity provider does not accept this sign-in", err)
	}
	text, _ := token.Extra("id_token").(string)
	claims, err := s.idToken(ctx, text)
	if err != nil {
		return "", expires, err
	}
	if nonce, _ := claims["nonce"].(string); subtle.ConstantTimeCompare([]byte(nonce), []byte(r.Nonce)) != 1 {
		return "", expires, unauthorized("the identity provider's answer belongs to another sign-in", errors.New("nonce differs"))
	}
	name, err := username(claims, s.claim)
	if err != nil {
		return "", expires, err
	}
	if err := s.users.record(ctx, name, claims); err != nil {
		return "", expires, err
	}
	subject, _ := claims["sub"].(string)

	now := s.now().UTC()
	session := domain.WebSession{Owner: name, RefreshAt: refreshAt(token, claims)}
	session.ID, session.Name, session.Access, session.CreatedAt = domain.NewID(), sessionName, domain.WriteAccess, now
	session.ExpiresAt = now.Add(sessionTTL)
	if token.RefreshToken == "" && session.RefreshAt.Before(session.ExpiresAt) {
		session.ExpiresAt = session.RefreshAt
	}
	cookie = session.ID + "." + rand.Text()
	hash := sha256.Sum256([]byte(cookie))
	session.Hash = hash[:]
	if session.Secrets, err = s.seal(cookie, secrets{token.RefreshToken, text, subject}); err != nil {
		return "", expires, err
	}
	return cookie, session.ExpiresAt, s.sessions.CreateWebSession(ctx, session)
}

// ErrOtherUser is that a cookie is not of the user whom the page shows.
var ErrOtherUser = errors.New("the session is of another user")

// BrowserSession is Session for the cookie of a browser, of the user whom the page shows; ""
// for any. It refreshes a session whose tokens have expired.
func (a *Authenticator) BrowserSession(ctx context.Context, cookie, user string) (Session, error) {
	s := a.signIn
	record, err := s.readOf(ctx, cookie, user)
	if err == nil && !s.now().Before(record.RefreshAt) {
		// A refresh token works once: the refresh does not end with the request.
		refreshed := s.refreshes.DoChan(record.ID, func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshLease)
			defer cancel()
			return s.refreshed(ctx, cookie)
		})
		select {
		case <-ctx.Done():
			err = fmt.Errorf("wait for the refresh of a session: %w", context.Cause(ctx))
		case result := <-refreshed:
			record, err = result.Val.(domain.WebSession), result.Err
		}
	}
	if err != nil {
		return Session{}, err
	}
	return Session{Caller: domain.Caller{Username: record.Owner}, auth: a, tokenID: record.ID, expires: record.ExpiresAt}, nil
}

// refreshed returns a session after a refresh by this process or another one.
func (s *signIn) refreshed(ctx context.Context, cookie string) (domain.WebSession, error) {
	for {
		record, err := s.read(ctx, cookie)
		now := s.now()
		switch {
		case err != nil || now.Before(record.RefreshAt):
			return record, err
		case now.Before(record.RetryAt):
			return record, unavailable(errors.New("the last refresh of the session failed"))
		case !now.Before(record.RefreshingUntil):
			claimed, err := s.sessions.ClaimRefresh(ctx, &record, refreshLease)
			if err != nil {
				return record, fmt.Errorf("claim the refresh of a session: %w", err)
			}
			if claimed {
				err := s.refresh(ctx, cookie, record)
				if err != nil && !errors.Is(err, domain.ErrNotFound) { // the claim has ended meanwhile
					return record, err
				}
				continue
			}
		}
		select {
		case <-ctx.Done():
			return record, fmt.Errorf("wait for the refresh of a session: %w", context.Cause(ctx))
		case <-time.After(refreshPoll):
		}
	}
}

// SignOut ends the session of a cookie, of a user as in BrowserSession. It returns the address
// where the browser signs out at the provider, which sends it back; "" where there is none. The
// address has the ID token: scripts must not read it.
func (a *Authenticator) SignOut(ctx context.Context, cookie, user, back string) (address string, err error) {
	s := a.signIn
	record, err := s.readOf(ctx, cookie, user)
	if err != nil {
		return "", err
	}
	if err := s.end(ctx, record); err != nil {
		return "", err
	}
	a.EndRequests(record.ID)
	held, err := s.open(cookie, record)
	if err != nil {
		return "", err
	}
	ctx, cancel := s.context(ctx)
	defer cancel()
	client, found, err := s.config(ctx, "")
	if err != nil {
		return "", nil //nolint:nilerr // the session has ended here
	}
	if err := s.revoke(ctx, client, found.Revocation, held.Refresh); err != nil {
		s.provider.log.Warn("refresh token not revoked at sign-out", "error", err)
	}
	if !webAddress(found.EndSession) {
		return "", nil
	}
	u, err := url.Parse(found.EndSession)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("id_token_hint", held.ID)
	query.Set("client_id", s.client.ClientID)
	query.Set("post_logout_redirect_uri", back)
	if u.RawQuery = query.Encode(); len(u.String()) > maxSignOut {
		query.Del("id_token_hint") // the provider then asks the user
		u.RawQuery = query.Encode()
	}
	return u.String(), nil
}

// revoke has the provider refuse a refresh token, where it can: one for offline access does not end
// with the session at the provider.
func (s *signIn) revoke(ctx context.Context, client *oauth2.Config, address, refresh string) error {
	if refresh == "" || !webAddress(address) {
		return nil
	}
	form := url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}}
	if client.Endpoint.AuthStyle == oauth2.AuthStyleInParams {
		form.Set("client_id", client.ClientID)
		if client.ClientSecret != "" {
			form.Set("client_secret", client.ClientSecret)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client.Endpoint.AuthStyle == oauth2.AuthStyleInHeader {
		request.SetBasicAuth(url.QueryEscape(client.ClientID), url.QueryEscape(client.ClientSecret))
	}
	response, err := s.provider.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the revocation endpoint answered %d", response.StatusCode)
	}
	return nil
}

// context limits calls of the provider.
func (s *signIn) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, s.provider.client), fetchTimeout)
}

// config returns the client with the provider's endpoints.
func (s *signIn) config(ctx context.Context, redirect string) (*oauth2.Config, *discovery, error) {
	found := s.provider.discovered.Load()
	if found == nil {
		var err error
		if found, err = s.provider.discover(ctx); err != nil {
			return nil, nil, unavailable(err)
		}
	}
	if !webAddress(found.AuthURL) || !webAddress(found.TokenURL) {
		return nil, nil, unavailable(errors.New("the discovery document has no authorization or token endpoint"))
	}
	client := s.client
	client.RedirectURL = redirect
	client.Endpoint = oauth2.Endpoint{AuthURL: found.AuthURL, TokenURL: found.TokenURL, AuthStyle: oauth2.AuthStyleInParams}
	// Without a list, the standard says client_secret_basic.
	if client.ClientSecret != "" && (len(found.AuthMethods) == 0 || slices.Contains(found.AuthMethods, "client_secret_basic")) {
		client.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	return &client, found, nil
}

// idToken returns the claims of a valid ID token for this client.
func (s *signIn) idToken(ctx context.Context, text string) (jwt.MapClaims, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	claims, _, err := s.provider.verify(ctx, s.idTokens, t)
	if err != nil {
		return nil, err
	}
	if party, ok := claims["azp"]; ok && party != any(s.client.ClientID) {
		return nil, unauthorized("the token is meant for another client", fmt.Errorf("azp is %.64q", party))
	}
	return claims, nil
}

// refreshAt is when the tokens of a provider expire.
func refreshAt(token *oauth2.Token, claims jwt.MapClaims) time.Time {
	if token.Expiry.IsZero() {
		return expiry(claims).UTC()
	}
	return token.Expiry.UTC()
}

// read returns the session of a cookie.
func (s *signIn) read(ctx context.Context, cookie string) (domain.WebSession, error) {
	text, _, _ := strings.Cut(cookie, ".")
	id, err := uuid.Parse(text)
	if err != nil {
		return domain.WebSession{}, unauthorized("the session has ended", fmt.Errorf("read the id of a session: %w", err))
	}
	hash := sha256.Sum256([]byte(cookie))
	record, err := s.sessions.WebSession(ctx, id.String(), hash[:])
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return record, unauthorized("the session has ended", err)
	case err != nil:
		return record, fmt.Errorf("look up a session: %w", err)
	}
	return record, nil
}

// readOf is read for the session of a user; "" for any.
func (s *signIn) readOf(ctx context.Context, cookie, user string) (domain.WebSession, error) {
	record, err := s.read(ctx, cookie)
	if err == nil {
		err = checkOwner(record.Owner)
	}
	if err == nil && user != "" && user != record.Owner {
		err = fmt.Errorf("%w: %w", ErrOtherUser, unauthorized("another user has signed in meanwhile", errors.New("the cookie is of another user")))
	}
	return record, err
}

// refresh gets new tokens for a session that this process has claimed. When the provider
// refuses it, the session ends.
func (s *signIn) refresh(ctx context.Context, cookie string, record domain.WebSession) error {
	stored := context.WithoutCancel(ctx)
	ctx, cancel := s.context(ctx)
	defer cancel()
	record, err := s.renew(ctx, cookie, record)
	if errors.Is(err, domain.ErrUnauthorized) {
		return cmp.Or(s.sessions.EndWebSession(stored, record), err)
	}
	if err != nil {
		record.RetryAt = s.now().Add(refreshBackoff)
	}
	return cmp.Or(s.sessions.RefreshWebSession(stored, record), err)
}

// renew returns a session with new tokens. After an error too, the record has the refresh token
// that is valid then.
func (s *signIn) renew(ctx context.Context, cookie string, record domain.WebSession) (domain.WebSession, error) {
	held, err := s.open(cookie, record)
	if err != nil {
		return record, err
	}
	if held.Refresh == "" {
		return record, unauthorized("the session has ended", errors.New("there is no refresh token"))
	}
	client, _, err := s.config(ctx, "")
	if err != nil {
		return record, err
	}
	token, err := client.TokenSource(ctx, &oauth2.Token{RefreshToken: held.Refresh}).Token()
	if err != nil {
		return record, exchangeError("the session has ended", err)
	}
	held.Refresh = cmp.Or(token.RefreshToken, held.Refresh)
	if record.Secrets, err = s.seal(cookie, held); err != nil {
		return record, err
	}
	claims := jwt.MapClaims{}
	if text, ok := token.Extra("id_token").(string); ok {
		if claims, err = s.idToken(ctx, text); err != nil {
			return record, unavailable(err)
		}
		if claims["sub"] != any(held.Subject) {
			return record, unauthorized("the session has ended", errors.New("the refreshed token is for another user"))
		}
		if err := s.users.record(ctx, record.Owner, claims); err != nil {
			return record, err
		}
		held.ID = text
		if record.Secrets, err = s.seal(cookie, held); err != nil {
			return record, err
		}
	}
	next := refreshAt(token, claims)
	if !s.now().Before(next) {
		return record, unavailable(errors.New("the refreshed tokens have already expired"))
	}
	record.RefreshAt = next
	return record, nil
}

// end deletes a session.
func (s *signIn) end(ctx context.Context, record domain.WebSession) error {
	err := s.sessions.DeleteToken(context.WithoutCancel(ctx), domain.Caller{Username: record.Owner}, record.ID)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// exchangeError is the error of the token endpoint. It refuses the code or the refresh token by
// invalid_grant; anything else says nothing about the user.
func exchangeError(message string, err error) error {
	refusal, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && refusal.ErrorCode == "invalid_grant" {
		return unauthorized(message, errors.New("the identity provider answered invalid_grant"))
	}
	if ok { // its text has the body of the response, which can have tokens
		err = fmt.Errorf("the token endpoint answered %d %.64q", refusal.Response.StatusCode, refusal.ErrorCode)
	}
	return unavailable(err)
}

// box encrypts the secrets of a session. The context binds them to the client at the provider.
func (s *signIn) box(cookie string) (box *seal.Box, context []byte, err error) {
	box, err = seal.New("web session", []byte(cookie))
	return box, []byte(s.provider.issuer + "\n" + s.client.ClientID), err
}

func (s *signIn) seal(cookie string, held secrets) ([]byte, error) {
	text, err := json.Marshal(held)
	if err != nil {
		return nil, err
	}
	box, context, err := s.box(cookie)
	if err != nil {
		return nil, err
	}
	return box.Seal(text, context), nil
}

func (s *signIn) open(cookie string, session domain.WebSession) (held secrets, err error) {
	box, context, err := s.box(cookie)
	if err != nil {
		return held, err
	}
	text, err := box.Open(session.Secrets, context)
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err != nil {
		err = unauthorized("the session has ended", fmt.Errorf("read the secrets of a session: %w", err))
	}
	return held, err
}
