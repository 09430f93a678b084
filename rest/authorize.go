package rest

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/internal/auth"
	"parley/internal/domain"
)

// Paths of the authorization server: RFC 8414, 6749, 7591 and 7009.
const (
	serverMetadataPath = "/.well-known/oauth-authorization-server"
	authorizePath      = "/oauth/authorize"
	tokenPath          = "/oauth/token"
	registerPath       = "/oauth/register"
	revokePath         = "/oauth/revoke"
)

// maxForm limits the forms and documents of the authorization server, in bytes.
const maxForm = 64 << 10

func (s *Server) routeAuthorization() {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		s.public(method, serverMetadataPath, s.withAuthorization(s.getServerMetadata))
	}
	s.public(http.MethodGet, authorizePath, s.withAuthorization(s.showConsent))
	s.public(http.MethodPost, authorizePath, s.withAuthorization(s.decideConsent))
	s.public(http.MethodPost, tokenPath, s.withAuthorization(s.giveTokens))
	s.public(http.MethodPost, registerPath, s.withAuthorization(s.registerApplication))
	s.public(http.MethodPost, revokePath, s.withAuthorization(s.revokeTokens))
}

// withAuthorization answers 404 where an identity provider is the authorization server, and writes
// errors as RFC 6749 has them.
func (s *Server) withAuthorization(run func(c *gin.Context) error) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		if !s.cfg.Auth.Authorizes() {
			return errNoRoute
		}
		c.Header("Cache-Control", "no-store")
		_, err := url.ParseQuery(c.Request.URL.RawQuery)
		if err != nil {
			err = &auth.OAuthError{Code: "invalid_request", Message: "the query of the address cannot be read"}
		} else {
			ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
			defer cancel()
			c.Request = c.Request.WithContext(ctx)
			err = run(c)
		}
		if failed, ok := errors.AsType[*auth.OAuthError](err); ok {
			c.PureJSON(http.StatusBadRequest, oauthErrorJSON{failed.Code, failed.Message})
			return nil
		}
		return err
	}
}

type oauthErrorJSON struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ResponseTypes         []string `json:"response_types_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	IssuerParameter       bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
}

func (s *Server) getServerMetadata(c *gin.Context) error {
	site := siteOf(c)
	c.PureJSON(http.StatusOK, serverMetadata{
		Issuer: site, AuthorizationEndpoint: site + authorizePath, TokenEndpoint: site + tokenPath, RegistrationEndpoint: site + registerPath, RevocationEndpoint: site + revokePath,
		ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code", "refresh_token"}, ChallengeMethods: []string{"S256"},
		TokenAuthMethods: []string{"none"}, RevocationAuthMethods: []string{"none"}, IssuerParameter: true, ClientDocuments: true,
	})
	return nil
}

// registerApplication gives an application an id. Nothing is stored.
func (s *Server) registerApplication(c *gin.Context) error {
	body, err := readBytes(c, maxForm, mediaJSON)
	if err != nil {
		return err
	}
	var app auth.Application
	if err := json.Unmarshal(body, &app); err != nil {
		return &auth.OAuthError{Code: "invalid_client_metadata", Message: "the body is not JSON with redirect_uris"}
	}
	id, err := s.cfg.Auth.Register(c.Request.Context(), app)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusCreated, struct {
		auth.Application
		ID         string   `json:"client_id"`
		AuthMethod string   `json:"token_endpoint_auth_method"`
		Grants     []string `json:"grant_types"`
		Responses  []string `json:"response_types"`
	}{app, id, "none", []string{"authorization_code", "refresh_token"}, []string{"code"}})
	return nil
}

//go:embed authorize.html
var consentText string

var consentPage = template.Must(template.New("consent").Parse(consentText))

// consentPolicy lets the page load its style sheet only. It sends its form here, from where the
// browser goes to the application.
const consentPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"

// consent is what the page shows.
type consent struct {
	Name, Place, Problem string
	Values               map[string]string
}

// requestOf reads what an application asks of a user. The error is for the user if the address
// to return to is not that of the application, and for the application otherwise.
func (s *Server) requestOf(c *gin.Context, values url.Values, fetch bool) (r auth.AuthorizationRequest, app auth.Application, forUser, forApp error) {
	r = auth.AuthorizationRequest{Client: values.Get("client_id"), Redirect: values.Get("redirect_uri"), Challenge: values.Get("code_challenge"), State: values.Get("state")}
	if app, forUser = s.cfg.Auth.Application(c.Request.Context(), r, fetch); forUser != nil {
		return r, app, forUser, nil
	}
	switch {
	case values.Get("response_type") != "code":
		forApp = &auth.OAuthError{Code: "unsupported_response_type", Message: "response_type must be code"}
	case values.Get("code_challenge_method") != "S256" || len(r.Challenge) != 43:
		forApp = &auth.OAuthError{Code: "invalid_request", Message: "code_challenge_method must be S256, with a code_challenge"}
	default:
		forApp = checkResource(c, values)
	}
	return r, app, nil, forApp
}

// showConsent asks the user whether an application may act for them.
func (s *Server) showConsent(c *gin.Context) error {
	values := c.Request.URL.Query()
	if err := checkOnce(values); err != nil {
		return s.refuseConsent(c, auth.AuthorizationRequest{}, err, nil)
	}
	r, app, forUser, forApp := s.requestOf(c, values, false)
	if forUser != nil || forApp != nil {
		return s.refuseConsent(c, r, cmp.Or(forUser, forApp), nil) // a link alone leads nowhere else
	}
	return s.writeConsent(c, http.StatusOK, r, app, values, "")
}

// decideConsent sends the browser back to the application, with a code if the user allows it.
func (s *Server) decideConsent(c *gin.Context) error {
	values, err := oauthForm(c)
	if err != nil {
		return err
	}
	if !ofThisSite(c) {
		return domain.Errorf(domain.ErrForbidden, "only the page of this server sends this form")
	}
	if values.Get("decision") != "allow" {
		r, _, forUser, forApp := s.requestOf(c, values, false)
		if forUser == nil && forApp == nil {
			forApp = &auth.OAuthError{Code: "access_denied", Message: "the user did not allow it"}
		}
		if strings.HasPrefix(r.Client, "https:") {
			forUser, forApp = cmp.Or(forUser, forApp), nil // nobody has checked the address
		}
		return s.refuseConsent(c, r, forUser, forApp)
	}
	session, err := s.cfg.Auth.Session(c.Request.Context(), strings.TrimSpace(values.Get("token")))
	if errors.Is(err, domain.ErrUnauthorized) {
		r, app, forUser, forApp := s.requestOf(c, values, false)
		if forUser != nil || forApp != nil {
			return s.refuseConsent(c, r, forUser, forApp)
		}
		return s.writeConsent(c, http.StatusUnauthorized, r, app, values, "This token is not valid. Get one with: parley token NAME")
	}
	if err != nil {
		return err
	}
	r, app, forUser, forApp := s.requestOf(c, values, true)
	if forUser != nil || forApp != nil {
		return s.refuseConsent(c, r, forUser, forApp)
	}
	code, err := s.cfg.Auth.Allow(c.Request.Context(), session.Caller, app, r)
	if refused, ok := errors.AsType[*domain.Error](err); ok && (errors.Is(err, domain.ErrForbidden) || errors.Is(err, domain.ErrTooMany)) {
		return s.writeConsent(c, http.StatusForbidden, r, app, values, "Not allowed: "+refused.Message+".")
	}
	if err != nil {
		return err
	}
	s.returnToApplication(c, r, url.Values{"code": {code}})
	return nil
}

// refuseConsent tells the user or the application why there is no consent.
func (s *Server) refuseConsent(c *gin.Context, r auth.AuthorizationRequest, forUser, forApp error) error {
	if failed, ok := errors.AsType[*auth.OAuthError](forApp); ok && forUser == nil {
		s.returnToApplication(c, r, url.Values{"error": {failed.Code}, "error_description": {failed.Message}})
		return nil
	}
	if failed, ok := errors.AsType[*auth.OAuthError](forUser); ok {
		return s.writeConsent(c, http.StatusBadRequest, r, auth.Application{}, nil, "This cannot be allowed: "+failed.Message+".")
	}
	return forUser
}

// returnToApplication sends the browser to the application.
func (s *Server) returnToApplication(c *gin.Context, r auth.AuthorizationRequest, answer url.Values) {
	to, err := url.Parse(r.Redirect)
	if err != nil {
		panic("rest: the address of an application was not checked")
	}
	values := to.Query()
	for name, value := range answer {
		values[name] = value
	}
	if r.State != "" {
		values.Set("state", r.State)
	}
	values.Set("iss", siteOf(c))
	to.RawQuery = values.Encode()
	c.Header("Location", to.String())
	c.Status(http.StatusSeeOther)
}

// consentFields are the parameters that the form sends back.
var consentFields = []string{"response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method", "state", "scope", "resource"}

func (s *Server) writeConsent(c *gin.Context, status int, r auth.AuthorizationRequest, app auth.Application, values url.Values, problem string) error {
	shown := consent{Name: app.Name, Problem: problem, Values: map[string]string{}}
	if to, err := url.Parse(r.Redirect); err == nil {
		shown.Place = to.Host
		if to.Host == "" || to.Scheme != "https" && to.Scheme != "http" {
			shown.Place = to.Scheme + " on this machine"
		}
	}
	for _, name := range consentFields {
		if values.Has(name) {
			shown.Values[name] = values.Get(name)
		}
	}
	var text strings.Builder
	if err := consentPage.Execute(&text, shown); err != nil {
		return err
	}
	c.Header("Content-Security-Policy", consentPolicy)
	c.Header("Referrer-Policy", "same-origin") // without one, browsers do not name the origin of the form
	c.Data(status, "text/html; charset=utf-8", []byte(text.String()))
	return nil
}

// giveTokens answers a code or a refresh token with tokens.
func (s *Server) giveTokens(c *gin.Context) error {
	form, err := oauthForm(c)
	if err == nil {
		err = checkResource(c, form)
	}
	if err != nil {
		return err
	}
	var tokens auth.ApplicationTokens
	switch form.Get("grant_type") {
	case "authorization_code":
		r := auth.AuthorizationRequest{Client: form.Get("client_id"), Redirect: form.Get("redirect_uri")}
		tokens, err = s.cfg.Auth.Exchange(c.Request.Context(), form.Get("code"), r, form.Get("code_verifier"))
	case "refresh_token":
		tokens, err = s.cfg.Auth.Refresh(c.Request.Context(), form.Get("refresh_token"), form.Get("client_id"))
	default:
		err = &auth.OAuthError{Code: "unsupported_grant_type", Message: "grant_type must be authorization_code or refresh_token"}
	}
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, gin.H{"access_token": tokens.Access, "token_type": "Bearer", "expires_in": int(tokens.ExpiresIn.Seconds()), "refresh_token": tokens.Refresh})
	return nil
}

// revokeTokens ends what a token is for, whoever has it.
func (s *Server) revokeTokens(c *gin.Context) error {
	form, err := oauthForm(c)
	if err == nil {
		err = s.cfg.Auth.Revoke(c.Request.Context(), form.Get("token"))
	}
	if err == nil {
		c.Status(http.StatusOK)
	}
	return err
}

func oauthForm(c *gin.Context) (url.Values, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxForm))
	var form url.Values
	if err == nil {
		form, err = url.ParseQuery(string(body))
	}
	if err != nil || !strings.HasPrefix(c.GetHeader("Content-Type"), "application/x-www-form-urlencoded") {
		return nil, &auth.OAuthError{Code: "invalid_request", Message: "send a form, as application/x-www-form-urlencoded"}
	}
	return form, checkOnce(form)
}

// checkOnce refuses parameters that are there twice, of which only resource may be.
func checkOnce(values url.Values) error {
	for name, all := range values {
		if len(all) > 1 && name != "resource" {
			return &auth.OAuthError{Code: "invalid_request", Message: "a parameter is there more than once"}
		}
	}
	return nil
}

// checkResource refuses a resource that is not on this server.
func checkResource(c *gin.Context, values url.Values) error {
	for _, resource := range values["resource"] {
		if resource != siteOf(c) && !strings.HasPrefix(resource, siteOf(c)+"/") {
			return &auth.OAuthError{Code: "invalid_target", Message: "resource must be on this server"}
		}
	}
	return nil
}
