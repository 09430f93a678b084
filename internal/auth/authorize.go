package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"parley/internal/domain"
)

// The authorization server of Parley: without an identity provider, an application gets a token of
// its own from the user who signs in with one, by the authorization code flow of OAuth 2.1.
// Applications are not stored: what one registers is in its id, which is signed.

// How long a code, an access token, and an authorization that is not renewed are valid.
const (
	codeTTL          = time.Minute
	accessTTL        = time.Hour
	authorizationTTL = 30 * 24 * time.Hour
)

// documentTimeout limits the fetch of a document that describes an application.
const documentTimeout = 5 * time.Second

// Limits of what an application registers, in bytes.
const (
	maxRedirects      = 10
	maxRedirect       = 512
	maxClientName     = 100
	maxClientID       = 8 << 10
	maxClientDocument = 64 << 10
)

// Authorizations has what users allow applications.
type Authorizations interface {
	CreateAuthorization(ctx context.Context, caller domain.Caller, a domain.Authorization) error
	Authorization(ctx context.Context, id string, generation int64, secret []byte) (domain.Authorization, error)
	RenewAuthorization(ctx context.Context, a domain.Authorization, token domain.NewToken, secret []byte) error
	EndAuthorization(ctx context.Context, id string) error
}

// OAuthError is an error of the authorization server, with its code of RFC 6749 or 7591.
type OAuthError struct{ Code, Message string }

func (e *OAuthError) Error() string { return e.Code + ": " + e.Message }

func oauthError(code, format string, args ...any) error {
	return &OAuthError{code, fmt.Sprintf(format, args...)}
}

// Application is what an application registers.
type Application struct {
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
}

// AuthorizationRequest is what an application asks of a user.
type AuthorizationRequest struct {
	Client, Redirect, Challenge, State string
}

// ApplicationTokens are the tokens of an application.
type ApplicationTokens struct {
	Access, Refresh string
	ExpiresIn       time.Duration
}

// Authorizes reports whether there is an authorization server: not beside an identity provider.
func (a *Authenticator) Authorizes() bool { return a.authorizations != nil }

// Register returns the id of an application.
func (a *Authenticator) Register(ctx context.Context, app Application) (id string, err error) {
	app.Name = clientName(app.Name)
	if err := app.check(); err != nil {
		return "", err
	}
	body, err := json.Marshal(app)
	if err != nil {
		return "", err
	}
	mac, err := a.macOf(ctx, body)
	if id = base64.RawURLEncoding.EncodeToString(body) + "." + mac; len(id) > maxClientID {
		return "", oauthError("invalid_redirect_uri", "the redirect_uris are too long")
	}
	return id, err
}

func clientName(name string) string {
	if name = strings.TrimSpace(name); name == "" || domain.CheckText(name, maxClientName) != "" {
		return "an application"
	}
	return name
}

// macOf returns the signature of the id of an application, or of a code or refresh token.
func (a *Authenticator) macOf(ctx context.Context, text []byte) (string, error) {
	key, err := a.clientKey.read(ctx)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(text)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

func (app Application) check() error {
	if len(app.Redirects) == 0 || len(app.Redirects) > maxRedirects {
		return oauthError("invalid_redirect_uri", "there must be 1 to %d redirect_uris", maxRedirects)
	}
	for _, redirect := range app.Redirects {
		if problem := checkRedirect(redirect); problem != "" {
			return oauthError("invalid_redirect_uri", "a redirect URI %s", problem)
		}
	}
	return nil
}

// privateScheme matches a scheme of an application on the user's machine, such as cursor or
// com.example.app.
var privateScheme = regexp.MustCompile(`^[a-z][a-z0-9.+-]+$`)

// webSchemes are schemes that no application may be sent a code by.
var webSchemes = []string{"https", "javascript", "data", "file", "blob", "about", "vbscript", "view-source", "ftp", "ws", "wss", "mailto", "tel", "filesystem", "intent", "chrome", "resource"}

// checkRedirect returns what is wrong with an address that a code is sent to: it is on the user's
// own machine, or of a web site with TLS.
func checkRedirect(text string) (problem string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "" || len(text) > maxRedirect || domain.CheckText(text, maxRedirect) != "":
		return "must be an address"
	case u.Fragment != "" || strings.Contains(text, "#") || u.User != nil:
		return "must have no fragment and no user"
	case strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }):
		return "must have ASCII characters alone: other letters in the name of a host are written as xn--"
	case !validPort(u.Port()):
		return "must have a port up to 65535"
	case u.Scheme == "https" && u.Hostname() != "":
		return ""
	case u.Scheme == "http":
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return ""
		}
		return "without TLS must be on this machine"
	case !privateScheme.MatchString(u.Scheme) || slices.Contains(webSchemes, u.Scheme):
		return "must have the scheme https, http or that of an application"
	}
	return ""
}

func validPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil
}

// Application returns the application with an id, which is what Register returned, or the address
// of a document that describes it. That is fetched only if fetch is set; otherwise its name is its host.
func (a *Authenticator) Application(ctx context.Context, r AuthorizationRequest, fetch bool) (Application, error) {
	app, err := a.application(ctx, r, fetch)
	if err == nil && !slices.ContainsFunc(app.Redirects, func(registered string) bool { return sameRedirect(registered, r.Redirect) }) {
		return app, oauthError("invalid_request", "the application has not registered this redirect_uri")
	}
	return app, err
}

// sameRedirect reports whether an address is a registered one. On this machine an application may
// listen on any port: RFC 8252.
func sameRedirect(registered, asked string) bool {
	if registered == asked {
		return true
	}
	a, err := url.Parse(registered)
	if err != nil || a.Scheme != "http" {
		return false
	}
	b, err := url.Parse(asked)
	return err == nil && checkRedirect(asked) == "" && b.Port() != "" && strings.Replace(registered, a.Host, a.Hostname(), 1) == strings.Replace(asked, b.Host, b.Hostname(), 1)
}

func (a *Authenticator) application(ctx context.Context, r AuthorizationRequest, fetch bool) (app Application, err error) {
	unknown := oauthError("invalid_client", "the application is not registered here")
	if u, err := url.Parse(r.Client); err == nil && u.Scheme == "https" && u.Host != "" && len(r.Client) <= maxRedirect {
		if !fetch {
			return Application{Name: u.Host, Redirects: []string{r.Redirect}}, Application{Redirects: []string{r.Redirect}}.check()
		}
		return a.described(ctx, r.Client)
	}
	encoded, signature, _ := strings.Cut(r.Client, ".")
	body, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(r.Client) > maxClientID {
		return app, unknown
	}
	mac, err := a.macOf(ctx, body)
	if err != nil {
		return app, err
	}
	if subtle.ConstantTimeCompare([]byte(signature), []byte(mac)) != 1 || json.Unmarshal(body, &app) != nil {
		return Application{}, unknown
	}
	return app, nil
}

// described fetches the document that describes an application.
func (a *Authenticator) described(ctx context.Context, address string) (app Application, err error) {
	failed := oauthError("invalid_client", "the document of the application, at its client_id, cannot be read")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return app, failed
	}
	response, err := a.documents.Do(request)
	if err != nil {
		return app, failed
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxClientDocument+1))
	var found struct {
		Application
		ID string `json:"client_id"`
	}
	if err != nil || response.StatusCode != http.StatusOK || len(body) > maxClientDocument || json.Unmarshal(body, &found) != nil || found.ID != address {
		return app, failed
	}
	found.Name = clientName(found.Name)
	return found.Application, found.check()
}

// Allow returns a code for an application that the caller lets act for them.
func (a *Authenticator) Allow(ctx context.Context, caller domain.Caller, app Application, r AuthorizationRequest) (code string, err error) {
	_, token, err := a.Issue(ctx, caller.Username, a.now().Add(codeTTL))
	if err != nil {
		return "", err
	}
	token.Name, token.Access = app.Name, domain.WriteAccess
	code, err = a.grantText(ctx, token.ID, 0)
	if err != nil {
		return "", err
	}
	return code, a.authorizations.CreateAuthorization(ctx, caller, domain.Authorization{
		NewToken: token, Client: hashText(r.Client), Redirect: r.Redirect, Challenge: r.Challenge, Secret: hashOf(code),
	})
}

// verifierForm matches a code_verifier of RFC 7636.
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// Exchange returns the first tokens of an application, for a code.
func (a *Authenticator) Exchange(ctx context.Context, code string, r AuthorizationRequest, verifier string) (ApplicationTokens, error) {
	if !verifierForm.MatchString(verifier) {
		return ApplicationTokens{}, oauthError("invalid_request", "code_verifier must have 43 to 128 letters, digits or characters of -._~")
	}
	found, err := a.authorization(ctx, code)
	if err != nil {
		return ApplicationTokens{}, err
	}
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	if found.Challenge == "" || found.Client != hashText(r.Client) || found.Redirect != r.Redirect || subtle.ConstantTimeCompare([]byte(found.Challenge), []byte(challenge)) != 1 {
		return ApplicationTokens{}, errGrant
	}
	return a.renew(ctx, found)
}

// Refresh returns the next tokens of an application, for a refresh token.
func (a *Authenticator) Refresh(ctx context.Context, refresh, client string) (ApplicationTokens, error) {
	found, err := a.authorization(ctx, refresh)
	if err != nil {
		return ApplicationTokens{}, err
	}
	if found.Challenge != "" || found.Client != hashText(client) {
		return ApplicationTokens{}, errGrant
	}
	return a.renew(ctx, found)
}

var errGrant = oauthError("invalid_grant", "the code or refresh token is not valid, has expired or was used")

// grantText returns a code or a refresh token: the id of the authorization, its generation, and a
// secret, signed so that nobody can end an authorization by a text that never was one.
func (a *Authenticator) grantText(ctx context.Context, id string, generation int64) (string, error) {
	text := fmt.Sprintf("%s.%d.%s", id, generation, rand.Text())
	mac, err := a.macOf(ctx, []byte(text))
	return text + "." + mac, err
}

// authorization finds what a code or refresh token stands for.
func (a *Authenticator) authorization(ctx context.Context, text string) (domain.Authorization, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 || len(text) > maxClientID {
		return domain.Authorization{}, errGrant
	}
	signature := parts[3]
	signed := strings.TrimSuffix(text, "."+signature)
	mac, err := a.macOf(ctx, []byte(signed))
	if err != nil {
		return domain.Authorization{}, err
	}
	generation, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || subtle.ConstantTimeCompare([]byte(signature), []byte(mac)) != 1 {
		return domain.Authorization{}, errGrant
	}
	found, err := a.authorizations.Authorization(ctx, parts[0], generation, hashOf(text))
	switch {
	case errors.Is(err, domain.ErrConflict):
		a.EndRequests(parts[0])
		return found, errGrant
	case errors.Is(err, domain.ErrNotFound):
		return found, errGrant
	}
	return found, err
}

func (a *Authenticator) renew(ctx context.Context, found domain.Authorization) (ApplicationTokens, error) {
	text, token, err := a.issue(ctx, found.ID, found.Owner, a.now().Add(accessTTL))
	if err != nil {
		return ApplicationTokens{}, err
	}
	token.ExpiresAt = a.now().Add(authorizationTTL)
	refresh, err := a.grantText(ctx, found.ID, found.Generation+1)
	if err == nil {
		err = a.authorizations.RenewAuthorization(ctx, found, token, hashOf(refresh))
	}
	if errors.Is(err, domain.ErrNotFound) { // somebody else used the code or refresh token at the same time
		err = cmp.Or(a.authorizations.EndAuthorization(ctx, found.ID), errGrant)
		a.EndRequests(found.ID)
	}
	return ApplicationTokens{text, refresh, accessTTL}, err
}

// Revoke ends the authorization of a refresh token or an access token. Others are ignored.
func (a *Authenticator) Revoke(ctx context.Context, text string) error {
	found, err := a.authorization(ctx, text)
	id := found.ID
	if errors.Is(err, errGrant) {
		var session Session
		session, err = a.Session(ctx, text)
		id = session.tokenID
	}
	switch {
	case errors.Is(err, domain.ErrUnauthorized):
		return nil
	case err != nil || id == "":
		return err
	}
	defer a.EndRequests(id)
	return a.authorizations.EndAuthorization(ctx, id)
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func hashText(text string) string { return hex.EncodeToString(hashOf(text)) }
