package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

const appRedirect = "http://127.0.0.1:33418/callback?from=parley"

// browser does not follow redirects: those to applications lead nowhere here.
var browser = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// app is an application that asks users for access.
type app struct {
	t      *testing.T
	server *e2etest.Process
	id     string
}

func (a *app) send(method, path string, form url.Values) (*http.Response, string) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := browser.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return response, string(body)
}

// register registers an application; "" when it is refused.
func register(t *testing.T, server *e2etest.Process, redirects ...string) *app {
	t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "Test <b>", "redirect_uris": redirects})
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Post(server.URL+"/oauth/register", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var found struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	return &app{t, server, found.ID}
}

const codeVerifier = "a-verifier-of-some-length-for-a-test-of-an-application"

// request is what the application asks for, with changes.
func (a *app) request(changes ...string) url.Values {
	sum := sha256.Sum256([]byte(codeVerifier))
	values := url.Values{
		"response_type": {"code"}, "client_id": {a.id}, "redirect_uri": {appRedirect}, "state": {"a state"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
	}
	return values
}

// allow lets the user of a token allow what the application asks for, and returns the code.
func (a *app) allow(token string) string {
	a.t.Helper()
	response, body := a.send(http.MethodPost, "/oauth/authorize", a.request("decision", "allow", "token", token))
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || response.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to.String(), "http://127.0.0.1:33418/callback?") || to.Query().Get("state") != "a state" || to.Query().Get("from") != "parley" || to.Query().Get("iss") != a.server.URL {
		a.t.Fatalf("%s %s %s", response.Status, to, body)
	}
	return to.Query().Get("code")
}

type appTokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Error   string `json:"error"`
}

func (a *app) tokens(changes ...string) (got appTokens) {
	a.t.Helper()
	form := url.Values{"client_id": {a.id}, "redirect_uri": {appRedirect}, "code_verifier": {codeVerifier}, "grant_type": {"authorization_code"}}
	for i := 0; i+1 < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	_, body := a.send(http.MethodPost, "/oauth/token", form)
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		a.t.Fatalf("%v: %s", err, body)
	}
	return got
}

func (a *app) refresh(token string) appTokens {
	a.t.Helper()
	return a.tokens("grant_type", "refresh_token", "refresh_token", token)
}

// works reports whether a token is accepted.
func (a *app) works(token string) bool {
	c := e2etest.Client{Process: a.server, Token: token}
	return c.Ask("GET", "/schema/datasets/all", nil, nil) == http.StatusOK
}

// TestAuthorization signs in applications without an identity provider.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	a := register(t, s.Process, appRedirect)
	page, text := a.send(http.MethodGet, "/oauth/authorize?"+a.request().Encode(), nil)
	if page.StatusCode != http.StatusOK || !strings.Contains(text, "Test &lt;b&gt;") || !strings.Contains(text, "127.0.0.1:33418") || !strings.Contains(page.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Fatalf("%s %s", page.Status, text)
	}
	code := a.allow(s.Token)
	for name, wrong := range map[string]appTokens{
		"another verifier": a.tokens("code", code, "code_verifier", "another"), "no verifier": a.tokens("code", code, "code_verifier", ""),
		"another redirect": a.tokens("code", code, "redirect_uri", "http://127.0.0.1:33418/other"), "another client": register(t, s.Process, appRedirect, "https://a.example/b").tokens("code", code),
		"the code as a refresh token": a.refresh(code), "no code": a.tokens("code", ""), "a strange code": a.tokens("code", "\xff\x00.\xff"), "another type": a.tokens("grant_type", "password"), "another resource": a.tokens("code", code, "resource", "https://other.example/"),
		"a short verifier": a.tokens("code", code, "code_verifier", "x"),
	} {
		if wrong.Access != "" || wrong.Error == "" {
			t.Errorf("%s: %+v", name, wrong)
		}
	}
	first := a.tokens("code", code)
	if !a.works(first.Access) {
		t.Fatalf("the first tokens: %+v", first)
	}
	second := a.refresh(first.Refresh)
	if !a.works(second.Access) || a.works(first.Access) || second.Refresh == first.Refresh {
		t.Errorf("after a refresh: %+v", second)
	}
	var listed []map[string]any
	if status := s.Ask("GET", "/user/tokens", nil, &listed); status != http.StatusOK || len(listed) != 1 || listed[0]["name"] != "Test <b>" {
		t.Errorf("listed tokens: %d %v", status, listed)
	}
	as := e2etest.Client{Process: s.Process, Token: second.Access}
	for _, refused := range []int{
		as.Ask("POST", "/user/token", e2etest.Object{"name": "mine"}, nil), as.Ask("GET", "/user/tokens", nil, nil),
		as.Ask("POST", "/permissions/namespaces/self/shop/shares", e2etest.Object{"username": "mallory", "role": "viewer"}, nil),
		as.Ask("PUT", "/boards/self/shop/0198c0de-0000-7000-8000-000000000009/watch", nil, nil),
	} {
		if refused != http.StatusForbidden {
			t.Errorf("an application manages tokens or shares, or watches queries: %d", refused)
		}
	}
	if response, _ := a.send(http.MethodPost, "/oauth/authorize", a.request("decision", "allow", "token", second.Access)); response.StatusCode != http.StatusForbidden {
		t.Errorf("an application allows another one: %s", response.Status)
	}
	third := a.refresh(a.refresh(second.Refresh).Refresh)
	if !a.works(third.Access) || a.refresh(strings.Replace(third.Refresh, ".", ".9", 1)).Error != "invalid_grant" || !a.works(third.Access) {
		t.Errorf("a refresh token that never was one ends the others: %+v", third)
	}
	if again := a.refresh(first.Refresh); again.Error != "invalid_grant" || a.works(third.Access) || a.refresh(third.Refresh).Error != "invalid_grant" {
		t.Errorf("a refresh token that was used before: %+v", again)
	}

	other := a.tokens("code", a.allow(s.Token))
	a.send(http.MethodPost, "/oauth/revoke", url.Values{"token": {other.Refresh}})
	if a.works(other.Access) {
		t.Error("a revoked token works")
	}
	code = a.allow(s.Token)
	used := a.tokens("code", code)
	if again := a.tokens("code", code); again.Error != "invalid_grant" || a.works(used.Access) {
		t.Errorf("a code that was used before: %+v", again)
	}
	last := a.tokens("code", a.allow(s.Token))
	if status := s.Ask("GET", "/user/tokens", nil, &listed); status != http.StatusOK || len(listed) != 1 {
		t.Fatalf("listed tokens: %d %v", status, listed)
	}
	if s.Ask("DELETE", fmt.Sprint("/user/token/", listed[0]["id"]), nil, nil) != http.StatusOK || a.works(last.Access) || a.refresh(last.Refresh).Error != "invalid_grant" {
		t.Error("a token that its user ended works")
	}
}

// TestCodeUsedTwice presents codes and refresh tokens several times at once: none is exchanged twice, and
// what is exchanged ends.
func TestCodeUsedTwice(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	a := register(t, s.Process, appRedirect)
	code := func(code string) []string { return []string{"code", code} }
	refresh := func(token string) []string { return []string{"grant_type", "refresh_token", "refresh_token", token} }
	for i := range 20 {
		used := code(a.allow(s.Token))
		if i%2 == 1 {
			used = refresh(a.tokens(used...).Refresh)
		}
		given := make(chan appTokens, 4)
		for range cap(given) {
			go func() { given <- a.tokens(used...) }()
		}
		exchanged := 0
		for range cap(given) {
			got := <-given
			if got.Access != "" {
				exchanged++
			}
			defer func() {
				if got.Access != "" && a.works(got.Access) {
					t.Error("a token works whose code was used twice")
				}
			}()
		}
		if exchanged > 1 {
			t.Errorf("exchanged %d times", exchanged)
		}
	}
}

// TestAuthorizationRefused asks for what nobody gets.
func TestAuthorizationRefused(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	for _, redirect := range []string{"http://example.com/", "javascript:alert(1)", "data:text/html,x", "https://a@b.example/", "https://a.example/#x", "/relative", "http://127.0.0.1:99999/", "https://claude.ai⁄login.evil.example/", "https://аpple.com/", "file:///etc/passwd", "http://127.0.0.1.example.com/", "https:", "java\nscript:x"} {
		if a := register(t, s.Process, redirect); a.id != "" {
			t.Errorf("%q was registered", redirect)
		}
	}
	if a := register(t, s.Process); a.id != "" {
		t.Error("an application without an address was registered")
	}
	for name, origin := range map[string]string{"another origin": "https://evil.example", "no origin": "null", "another port": s.URL + "1"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/oauth/authorize", strings.NewReader("decision=allow"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		response, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("a form of a page of %s: %s", name, response.Status)
		}
	}
	a := register(t, s.Process, appRedirect, "cursor://anysphere.cursor-retrieval/oauth")
	for name, changes := range map[string][]string{
		"another redirect": {"redirect_uri", appRedirect + "&x=1"}, "another host": {"redirect_uri", "http://localhost:33418/callback?from=parley"}, "an open redirect": {"redirect_uri", "https://evil.example/"}, "no client": {"client_id", ""},
		"a changed client": {"client_id", "x" + a.id}, "a document that is nobody's": {"client_id", "https://127.0.0.1/client.json", "redirect_uri", "http://example.com/"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			form := a.request(append(changes, "decision", "allow", "token", s.Token)...)
			response, text := a.send(method, "/oauth/authorize?"+form.Encode(), form)
			if response.StatusCode != http.StatusBadRequest || response.Header.Get("Location") != "" {
				t.Errorf("%s, %s: %s %s", name, method, response.Status, text)
			}
		}
	}
	anyPort := strings.Replace(appRedirect, "33418", "40000", 1)
	if response, _ := a.send(http.MethodGet, "/oauth/authorize?"+a.request("redirect_uri", anyPort).Encode(), nil); response.StatusCode != http.StatusOK {
		t.Errorf("another port of this machine: %s", response.Status)
	}
	for name, link := range map[string]url.Values{
		"a wrong type": a.request("response_type", "x"), "a document": a.request("response_type", "x", "client_id", "https://a.example/", "redirect_uri", "https://evil.example/"),
	} {
		if response, _ := a.send(http.MethodGet, "/oauth/authorize?"+link.Encode(), nil); response.StatusCode != http.StatusBadRequest || response.Header.Get("Location") != "" {
			t.Errorf("a link with %s leads elsewhere: %s", name, response.Status)
		}
	}
	if response, _ := a.send(http.MethodPost, "/oauth/authorize", a.request("decision", "deny", "client_id", "https://a.example/", "redirect_uri", "https://evil.example/")); response.Header.Get("Location") != "" {
		t.Errorf("a form leads elsewhere: %s", response.Status)
	}
	for name, test := range map[string]struct {
		changes []string
		want    string
	}{
		"no challenge": {[]string{"code_challenge", ""}, "invalid_request"}, "a plain challenge": {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"a token in the address": {[]string{"response_type", "token"}, "unsupported_response_type"}, "another server": {[]string{"resource", "https://other.example/mcp"}, "invalid_target"},
		"a user who refuses": {[]string{"decision", "deny"}, "access_denied"},
	} {
		form := a.request(append([]string{"decision", "allow", "token", s.Token}, test.changes...)...)
		response, _ := a.send(http.MethodPost, "/oauth/authorize", form)
		to, err := url.Parse(response.Header.Get("Location"))
		if err != nil || response.StatusCode != http.StatusSeeOther || to.Query().Get("error") != test.want || to.Query().Get("code") != "" {
			t.Errorf("%s: %s %s", name, response.Status, to)
		}
	}
	var restricted struct{ Token string }
	s.Ask("POST", "/user/token", e2etest.Object{"name": "only", "accessRestrictedTo": []e2etest.Object{{"username": "self", "namespace": "shop"}}}, &restricted)
	for name, token := range map[string]string{"no token": "", "a wrong token": "x.y.z", "a restricted token": restricted.Token} {
		response, text := a.send(http.MethodPost, "/oauth/authorize", a.request("decision", "allow", "token", token))
		if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden || response.Header.Get("Location") != "" || !strings.Contains(text, "role=\"alert\"") {
			t.Errorf("%s: %s %s", name, response.Status, text)
		}
	}
}

// TestAuthorizationOfMCP leads the SDK's client from a 401 to the call of a tool.
func TestAuthorizationOfMCP(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	a := &app{t: t, server: s.Process}
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "SDK", RedirectURIs: []string{appRedirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			asked, err := url.Parse(args.URL)
			if err != nil {
				return nil, err
			}
			form := asked.Query()
			form.Set("decision", "allow")
			form.Set("token", s.Token)
			response, text := a.send(http.MethodPost, asked.Path, form)
			to, err := url.Parse(response.Header.Get("Location"))
			if err != nil || to.Query().Get("code") == "" {
				return nil, fmt.Errorf("%s %s", response.Status, text)
			}
			return &auth.AuthorizationResult{Code: to.Query().Get("code"), State: to.Query().Get("state"), Iss: to.Query().Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_datasets", Arguments: map[string]any{}})
	if err != nil || result.IsError || !strings.Contains(fmt.Sprint(e2etest.ToJSON(result.StructuredContent)), "orders") {
		t.Errorf("%+v %v", result, err)
	}
}
