package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/rest/middleware"
)

// Paths of the sign-in of browsers, and of the metadata of RFC 9728.
const (
	callbackPath = "/auth/callback"
	logoutPath   = "/auth/logout"
	metadataPath = "/.well-known/oauth-protected-resource"
	mcpPath      = "/mcp"
)

const (
	// signInTTL is how long a user may take at the identity provider.
	signInTTL = 10 * time.Minute
	// signOutTTL is how long a browser may take to open the sign-out at the provider.
	signOutTTL = time.Minute
	// maxReturnTo limits the place to return to, in bytes.
	maxReturnTo = 1 << 10
	// csrfHeader is a header that pages of other origins cannot send. A cookie counts only
	// beside it.
	csrfHeader = "X-Requested-With"
	// userHeader has the user whom the page shows, percent-encoded. Another tab may have
	// signed in another one meanwhile.
	userHeader = "X-Parley-User"
)

// Names of the cookies, see cookieName.
const (
	sessionCookie = "session"
	signInCookie  = "sign_in"
	signOutCookie = "sign_out"
)

func (s *Server) routeSignIn() {
	s.public(http.MethodGet, "/auth/login", s.withSignIn(s.login))
	s.public(http.MethodGet, callbackPath, s.withSignIn(s.finishLogin))
	s.public(http.MethodGet, "/auth/session", s.withSignIn(s.getSession))
	s.public(http.MethodPost, logoutPath, s.withSignIn(s.logout))
	s.public(http.MethodGet, logoutPath, s.withSignIn(s.logoutAtProvider))
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s.public(method, metadataPath, s.getMetadata(""))
		s.public(method, metadataPath+mcpPath, s.getMetadata(mcpPath))
	}
	s.routeAuthorization()
}

// withSignIn limits the time of an operation, and answers 404 where browsers cannot sign in.
func (s *Server) withSignIn(run func(c *gin.Context) error) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		if !s.cfg.Auth.SignsIn() {
			return errNoRoute
		}
		ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		return run(c)
	}
}

// siteOf returns the address of the page that a request is for, without the final slash.
func siteOf(c *gin.Context) string {
	return strings.TrimSuffix(baseurl.From(c.Request.Context()), Root)
}

// login sends the browser to the identity provider.
func (s *Server) login(c *gin.Context) error {
	address, r, err := s.cfg.Auth.BeginSignIn(c.Request.Context(), siteOf(c)+callbackPath)
	if err != nil {
		s.returnToPage(c, "", err)
		return nil
	}
	state := url.Values{"state": {r.State}, "nonce": {r.Nonce}, "verifier": {r.Verifier}, "return_to": {placeOf(c.Query("return_to"))}}
	// Lax: the provider's redirect must bring it.
	setCookie(c, signInCookieOf(r.State), state.Encode(), http.SameSiteLaxMode, signInTTL)
	c.Redirect(http.StatusSeeOther, address)
	return nil
}

// placeOf returns a place of the page, which is in the fragment of its address; "" for
// anything else.
func placeOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(text, "#/") || len(text) > maxReturnTo {
		return ""
	}
	return "#" + u.EscapedFragment()
}

// finishLogin signs in the browser that the identity provider sent back.
func (s *Server) finishLogin(c *gin.Context) error {
	name := signInCookieOf(c.Query("state"))
	state, _ := url.ParseQuery(readCookie(c, name))
	if want := state.Get("state"); want == "" || subtle.ConstantTimeCompare([]byte(c.Query("state")), []byte(want)) != 1 {
		s.returnToPage(c, "", domain.Errorf(domain.ErrUnauthorized, "this sign-in did not start in this browser"))
		return nil
	}
	setCookie(c, name, "", http.SameSiteLaxMode, -time.Second) // it counts once
	if problem := c.Query("error"); problem != "" || c.Query("code") == "" {
		s.returnToPage(c, "", domain.Errorf(domain.ErrForbidden, "the identity provider did not sign in the user: %.64q", problem))
		return nil
	}
	r := auth.SignInRequest{State: state.Get("state"), Nonce: state.Get("nonce"), Verifier: state.Get("verifier")}
	cookie, expires, err := s.cfg.Auth.FinishSignIn(c.Request.Context(), siteOf(c)+callbackPath, r, c.Query("code"))
	if err == nil {
		setCookie(c, sessionCookie, cookie, http.SameSiteStrictMode, time.Until(expires))
	}
	s.returnToPage(c, placeOf(state.Get("return_to")), err)
	return nil
}

// returnToPage sends the browser to a place of the page, or to its sign-in with the kind of
// an error: anybody can write a link, so it has no text.
func (s *Server) returnToPage(c *gin.Context, place string, err error) {
	if err != nil {
		_ = c.Error(err)
		place = "#sign_in=failed"
		switch {
		case errors.Is(err, domain.ErrForbidden):
			place = "#sign_in=denied"
		case errors.Is(err, domain.ErrUnavailable):
			place = "#sign_in=unavailable"
		}
	}
	c.Redirect(http.StatusSeeOther, siteOf(c)+"/"+place)
}

// getSession tells the page who is signed in by the cookie.
func (s *Server) getSession(c *gin.Context) error {
	session, err := s.browserSession(c.Request.Context(), c, readCookie(c, sessionCookie))
	switch {
	case errors.Is(err, domain.ErrUnauthorized):
		c.PureJSON(http.StatusOK, gin.H{"username": nil})
		return nil
	case err != nil:
		return err
	}
	c.PureJSON(http.StatusOK, gin.H{"username": session.Caller.Username})
	return nil
}

// logout ends the session of the cookie, and names the address that ends that of the
// provider. That of the provider has the ID token, so it is in a cookie.
func (s *Server) logout(c *gin.Context) error {
	if err := checkOrigin(c); err != nil {
		return err
	}
	user, err := shownUser(c)
	if err != nil {
		return err
	}
	location, err := s.cfg.Auth.SignOut(c.Request.Context(), readCookie(c, sessionCookie), user, siteOf(c)+"/")
	if errors.Is(err, auth.ErrOtherUser) {
		c.PureJSON(http.StatusOK, gin.H{"location": ""}) // it has ended already
		return nil
	}
	if err != nil && !errors.Is(err, domain.ErrUnauthorized) {
		return err
	}
	setCookie(c, sessionCookie, "", http.SameSiteStrictMode, -time.Second)
	if location != "" {
		setCookie(c, signOutCookie, location, http.SameSiteStrictMode, signOutTTL)
		location = siteOf(c) + logoutPath
	}
	c.PureJSON(http.StatusOK, gin.H{"location": location})
	return nil
}

// logoutAtProvider sends a browser that has signed out to the provider, once.
func (s *Server) logoutAtProvider(c *gin.Context) error {
	location := cmp.Or(readCookie(c, signOutCookie), siteOf(c)+"/")
	setCookie(c, signOutCookie, "", http.SameSiteStrictMode, -time.Second)
	c.Redirect(http.StatusSeeOther, location)
	return nil
}

// browserSession verifies the cookie of a request.
func (s *Server) browserSession(ctx context.Context, c *gin.Context, cookie string) (auth.Session, error) {
	if err := checkOrigin(c); err != nil {
		return auth.Session{}, err
	}
	user, err := shownUser(c)
	if err != nil {
		return auth.Session{}, err
	}
	session, err := s.cfg.Auth.BrowserSession(ctx, cookie, user)
	if err == nil {
		middleware.SetUser(c, session.Caller.Username)
	}
	return session, err
}

// shownUser returns the user whom the page shows; "" for none.
func shownUser(c *gin.Context) (string, error) {
	user, err := url.PathUnescape(c.GetHeader(userHeader))
	if err != nil {
		return "", domain.Errorf(errBadRequest, "the header %s cannot be read", userHeader)
	}
	return user, nil
}

// checkOrigin refuses a request with a cookie unless the page sent it.
func checkOrigin(c *gin.Context) error {
	if c.GetHeader(csrfHeader) == "" || !ofThisSite(c) {
		return domain.Errorf(domain.ErrForbidden, "a cookie counts only in requests of the page, with the header %s; other clients send a token", csrfHeader)
	}
	return nil
}

// ofThisSite reports whether a request is of no page of another origin.
func ofThisSite(c *gin.Context) bool {
	origin, from := c.GetHeader("Origin"), c.GetHeader("Sec-Fetch-Site")
	u, err := url.Parse(siteOf(c))
	return err == nil && (from == "" || from == "same-origin") && (origin == "" || strings.EqualFold(origin, u.Scheme+"://"+u.Host))
}

// cookieName returns the name of a cookie. Browsers send cookies to all ports and paths of a
// host: the name has the address of the page. With its prefix, only this host over https can
// have set it.
func cookieName(c *gin.Context, name string) string {
	sum := sha256.Sum256([]byte(siteOf(c)))
	name = "parley_" + name + "_" + hex.EncodeToString(sum[:4])
	if secure(c) {
		return "__Host-" + name
	}
	return name
}

// signInCookieOf returns the name of the cookie of a sign-in. Several can be in progress in a
// browser.
func signInCookieOf(state string) string {
	sum := sha256.Sum256([]byte(state))
	return signInCookie + "_" + hex.EncodeToString(sum[:2])
}

func secure(c *gin.Context) bool { return strings.HasPrefix(siteOf(c), "https:") }

// readCookie returns the value of a cookie; "" without one, or with several.
func readCookie(c *gin.Context, name string) string {
	if cookies := c.Request.CookiesNamed(cookieName(c, name)); len(cookies) == 1 {
		return cookies[0].Value
	}
	return ""
}

// setCookie sets a cookie that scripts cannot read, or deletes it.
func setCookie(c *gin.Context, name, value string, site http.SameSite, ttl time.Duration) {
	http.SetCookie(c.Writer, &http.Cookie{
		Name: cookieName(c, name), Value: value, Path: "/", MaxAge: int(ttl.Seconds()),
		HttpOnly: true, Secure: secure(c), SameSite: site,
	})
}

// resourceMetadata describes a protected resource: RFC 9728.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	ResourceName         string   `json:"resource_name"`
	AuthorizationServers []string `json:"authorization_servers"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Scopes               []string `json:"scopes_supported,omitempty"`
}

// getMetadata describes the resource at a path. It is not found without an authorization server.
func (s *Server) getMetadata(path string) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		issuer := s.issuerOf(c)
		if issuer == "" {
			return errNoRoute
		}
		metadata := resourceMetadata{
			Resource: siteOf(c) + path, ResourceName: "Parley", AuthorizationServers: []string{issuer}, BearerMethods: []string{"header"},
		}
		if !s.cfg.Auth.Authorizes() {
			metadata.Scopes = []string{"openid"}
		}
		c.PureJSON(http.StatusOK, metadata)
		return nil
	}
}

// issuerOf returns the authorization server: the identity provider or this server; "" for none.
func (s *Server) issuerOf(c *gin.Context) string {
	if s.cfg.Auth.Authorizes() {
		return siteOf(c)
	}
	return s.cfg.Auth.Issuer()
}

// metadataKey is the gin key of the address of the resource's metadata.
const metadataKey = "resource metadata"

// setMetadata notes where the metadata of the requested resource is.
func (s *Server) setMetadata(c *gin.Context) {
	if s.issuerOf(c) == "" {
		return
	}
	path := metadataPath
	if c.FullPath() == mcpPath {
		path += mcpPath
	}
	c.Set(metadataKey, siteOf(c)+path)
}
