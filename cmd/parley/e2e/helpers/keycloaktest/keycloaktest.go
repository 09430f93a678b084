// Package keycloaktest gives tests a real identity provider: Keycloak, with the users carol and
// dave. It is fetched with Maven and prepared when it is first needed, and stored in the user's
// cache folder. PARLEY_TEST_KEYCLOAK can be set to a prepared folder. Tests that use it run with
// PARLEY_TEST=signin only.
//
// Each test process that asks has one server, on a free port of the loopback interface, which
// ends with the process. Each test has clients of its own there.
package keycloaktest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// ClientSecret is that of all clients.
const ClientSecret = "the secret of the client"

// Password is that of both users.
const Password = "password"

type object = map[string]any

// Provider is a running Keycloak, as a test sees it.
type Provider struct {
	Issuer string
	// ClientID is for the first client that the test registers.
	ClientID string
	t        testing.TB
}

// Start returns this process's Keycloak. Without PARLEY_TEST=signin the test is skipped; without
// a Keycloak it is skipped too, or fails with CI=true in the environment.
func Start(t testing.TB) *Provider {
	t.Helper()
	if os.Getenv("PARLEY_TEST") != "signin" {
		t.Skip("PARLEY_TEST=signin fetches Keycloak and runs it")
	}
	srv, err := shared()
	servertest.Require(t, err, servertest.ErrNoProgram)
	t.Cleanup(func() {
		if log, err := os.ReadFile(srv.log); err == nil && t.Failed() {
			t.Logf("log of Keycloak:\n%s", log)
		}
	})
	return &Provider{Issuer: srv.issuer, ClientID: "parley-" + strings.ToLower(rand.Text()), t: t}
}

// Register registers a client that signs users in on the page of a site.
func (p *Provider) Register(id, site string) {
	p.t.Helper()
	p.manage(http.MethodPost, "/clients", object{
		"clientId": id, "secret": ClientSecret, "redirectUris": []string{site + "/auth/callback"},
		"attributes": object{"post.logout.redirect.uris": site + "/"},
	}, nil)
}

// Session is one of a user at the provider.
type Session struct {
	ID, Username string
	offline      bool
}

// Sessions returns the sessions of the test's first client, with those for offline access.
func (p *Provider) Sessions() (all []Session) {
	p.t.Helper()
	for kind, offline := range map[string]bool{"user-sessions": false, "offline-sessions": true} {
		var found []Session
		p.manage(http.MethodGet, "/clients/"+p.client()+"/"+kind, nil, &found)
		for _, session := range found {
			session.offline = offline
			all = append(all, session)
		}
	}
	return all
}

// EndSessions ends them, as an administrator does.
func (p *Provider) EndSessions() {
	p.t.Helper()
	for _, session := range p.Sessions() {
		p.manage(http.MethodDelete, fmt.Sprintf("/sessions/%s?isOffline=%t", session.ID, session.offline), nil, nil)
	}
}

// RevokeTokens has the provider refuse all tokens that the test's first client has.
func (p *Provider) RevokeTokens() {
	p.t.Helper()
	// In seconds, and tokens of this one count still.
	p.manage(http.MethodPut, "/clients/"+p.client(), object{"clientId": p.ClientID, "notBefore": time.Now().Unix() + 1}, nil)
}

// Unregister removes the test's first client.
func (p *Provider) Unregister() {
	p.t.Helper()
	p.manage(http.MethodDelete, "/clients/"+p.client(), nil, nil)
}

// client returns what Keycloak calls the test's first client.
func (p *Provider) client() string {
	p.t.Helper()
	var found []struct{ ID string }
	p.manage(http.MethodGet, "/clients?clientId="+p.ClientID, nil, &found)
	if len(found) != 1 {
		p.t.Fatalf("clients: %v", found)
	}
	return found[0].ID
}

// manage calls an operation of administrators.
func (p *Provider) manage(method, path string, body, answer any) {
	p.t.Helper()
	var token struct {
		Access string `json:"access_token"`
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"operator"}, "client_secret": {ClientSecret}}
	p.read(http.DefaultClient, p.request(http.MethodPost, p.Endpoint("token"), form), &token)
	text, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), method, strings.Replace(p.Issuer, "/realms/", "/admin/realms/", 1)+path, bytes.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token.Access)
	p.read(http.DefaultClient, request, answer)
}

// request returns one with a form, if there is one.
func (p *Provider) request(method, address string, form url.Values) *http.Request {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request
}

// read sends a request, which must succeed, and decodes the answer, unless it is nil.
func (p *Provider) read(client *http.Client, request *http.Request, answer any) {
	p.t.Helper()
	response, text := p.send(client, request)
	if response.StatusCode >= http.StatusMultipleChoices {
		p.t.Fatalf("%s %s: %s\n%s", request.Method, request.URL, response.Status, text)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(text, answer); err != nil {
		p.t.Fatalf("%s %s: %v\n%s", request.Method, request.URL, err, text)
	}
}

func (p *Provider) send(client *http.Client, request *http.Request) (response *http.Response, text []byte) {
	p.t.Helper()
	response, err := client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		p.t.Fatal(err)
	}
	return response, text
}

// Endpoint returns the address of an endpoint of OpenID Connect, such as "token".
func (p *Provider) Endpoint(name string) string {
	return p.Issuer + "/protocol/openid-connect/" + name
}

// Browser is a client with cookies, which follows no redirect by itself.
func Browser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)

// SignIn walks from an address of the provider to the first redirect that leaves it, and signs
// a user in on the way. Without a way on it returns the status and the text of where it ends.
func (p *Provider) SignIn(browser *http.Client, address, user string) string {
	p.t.Helper()
	request := p.request(http.MethodGet, address, nil)
	for range 10 {
		response, text := p.send(browser, request)
		if to, err := response.Location(); err == nil {
			if !strings.HasPrefix(to.String(), p.Issuer) {
				return to.String()
			}
			request = p.request(http.MethodGet, to.String(), nil)
			continue
		}
		action := formAction.FindSubmatch(text)
		if response.StatusCode != http.StatusOK || action == nil {
			return fmt.Sprintf("%d: %s", response.StatusCode, text)
		}
		to, err := response.Request.URL.Parse(html.UnescapeString(string(action[1])))
		if err != nil {
			p.t.Fatal(err)
		}
		request = p.request(http.MethodPost, to.String(), url.Values{"username": {user}, "password": {Password}})
	}
	p.t.Fatalf("the sign-in does not end: %s", request.URL)
	return ""
}

// Token returns the ID token of a user for a client.
func (p *Provider) Token(client, user, redirect string) string {
	p.t.Helper()
	query := url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {"openid profile"}, "state": {"s"}}
	back, err := url.Parse(p.SignIn(Browser(p.t), p.Endpoint("auth")+"?"+query.Encode(), user))
	if err != nil {
		p.t.Fatal(err)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {redirect}, "client_id": {client}, "client_secret": {ClientSecret}}
	var token struct {
		ID string `json:"id_token"`
	}
	p.read(http.DefaultClient, p.request(http.MethodPost, p.Endpoint("token"), form), &token)
	return token.ID
}
