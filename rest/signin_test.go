package rest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/keycloaktest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/sqlstore"
)

// site is the address of the page in these tests.
const site = "http://parley.test"

// newSignIn starts a server, under the address site in another form, that signs browsers in with Keycloak.
func newSignIn(t *testing.T, store *sqlstore.Store, idp *keycloaktest.Provider, change ...func(*auth.Config)) *service {
	t.Helper()
	cfg := auth.Config{
		Issuer: idp.Issuer, Audience: idp.ClientID, ClientID: idp.ClientID, ClientSecret: keycloaktest.ClientSecret,
		Tokens: store, Sessions: store, Log: slog.New(slog.DiscardHandler),
	}
	for _, apply := range change {
		apply(&cfg)
	}
	authenticator, err := auth.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(authenticator.Close)
	return newService(t, store, func(c *rest.Config) { c.Auth, c.BaseURL = authenticator, "http://Parley.test:80"+rest.Root })
}

func startProvider(t *testing.T) *keycloaktest.Provider {
	t.Helper()
	idp := keycloaktest.Start(t)
	idp.Register(idp.ClientID, site)
	return idp
}

// browser is a client with cookies, for which a server has the address site.
type browser struct {
	*http.Client
	t  *testing.T
	at *service
	// headers are sent with each request for the server.
	headers http.Header
}

func newBrowser(t *testing.T, at *service) *browser {
	t.Helper()
	b := &browser{Client: keycloaktest.Browser(t), t: t, at: at, headers: http.Header{"X-Requested-With": {"parley"}, "Sec-Fetch-Site": {"same-origin"}, "Origin": {site}}}
	b.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "parley.test:") {
			address = b.at.server.Listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	return b
}

// do sends a request as the page does.
func (b *browser) do(method, path, body string) answer {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, site+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header = b.headers.Clone()
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := b.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// follow sends a navigation to an address of the server, and returns where it leads.
func (b *browser) follow(address string) string {
	b.t.Helper()
	path, ok := strings.CutPrefix(address, site)
	if !ok {
		b.t.Fatalf("not of this server: %s", address)
	}
	got := b.do(http.MethodGet, path, "")
	if got.status != http.StatusSeeOther {
		b.t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return got.header.Get("Location")
}

// signIn signs a user in and returns the address of the callback, and where it led.
func (b *browser) signIn(idp *keycloaktest.Provider, user, returnTo string) (callback, place string) {
	b.t.Helper()
	callback = idp.SignIn(b.Client, b.follow(site+"/auth/login?return_to="+url.QueryEscape(returnTo)), user)
	return callback, b.follow(callback)
}

func (b *browser) user() string {
	b.t.Helper()
	got := b.do(http.MethodGet, "/auth/session", "")
	var session struct{ Username string }
	if err := json.Unmarshal([]byte(got.body), &session); err != nil || got.status != http.StatusOK {
		b.t.Fatalf("session: %d %s", got.status, got.body)
	}
	return session.Username
}

// cookie returns the cookie of the session.
func (b *browser) cookie() *http.Cookie {
	b.t.Helper()
	u, _ := url.Parse(site)
	for _, cookie := range b.Jar.Cookies(u) {
		if strings.HasPrefix(cookie.Name, "parley_session_") {
			return cookie
		}
	}
	b.t.Fatal("no cookie")
	return nil
}

// expire has the provider's tokens of the session expire.
func (b *browser) expire() {
	b.t.Helper()
	cookie := b.cookie().Value
	id, _, _ := strings.Cut(cookie, ".")
	hash := sha256.Sum256([]byte(cookie))
	session, err := b.at.store.WebSession(b.t.Context(), id, hash[:])
	if err == nil {
		session.RefreshAt, session.RetryAt = time.UnixMilli(1), time.UnixMilli(1)
		err = b.at.store.RefreshWebSession(b.t.Context(), session)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) want(what string, status int) {
	b.t.Helper()
	if got := b.do(http.MethodGet, rest.Root+"/schema/datasets/all", ""); got.status != status {
		b.t.Errorf("%s: %d %s", what, got.status, got.body)
	}
}

// TestSignIn signs in, refreshes the session on two replicas, and signs out there and at the
// provider.
func TestSignIn(t *testing.T) {
	t.Parallel()
	store, idp := sqlstoretest.Postgres(t), startProvider(t)
	one, two := newSignIn(t, store, idp), newSignIn(t, store, idp)
	b := newBrowser(t, one)
	if b.user() != "" {
		t.Error("somebody is signed in at the start")
	}
	b.want("without a session", http.StatusUnauthorized)
	callback, place := b.signIn(idp, "carol", "#/carol/shop/a%20b")
	if place != site+"/#/carol/shop/a%20b" {
		t.Errorf("it leads to %s", place)
	}
	if b.user() != "carol" {
		t.Errorf("the user is %q", b.user())
	}
	b.want("with a session", http.StatusOK)
	tokens := b.do(http.MethodGet, rest.Root+"/user/tokens", "").body
	if !strings.Contains(tokens, `"name":"Sign-in on the page"`) || strings.Contains(tokens, b.cookie().Value) {
		t.Errorf("tokens: %s", tokens)
	}

	for range 3 { // Keycloak takes each refresh token once
		b.expire()
		done := make(chan int, 12)
		for i := range cap(done) {
			tab := *b
			tab.at = []*service{one, two}[i%2]
			tab.Client = &http.Client{Jar: b.Jar, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, tab.at.server.Listener.Addr().String())
			}}}
			go func() { done <- tab.do(http.MethodGet, rest.Root+"/schema/datasets/all", "").status }()
		}
		for range cap(done) {
			if status := <-done; status != http.StatusOK {
				t.Errorf("a request after the tokens expired: %d", status)
			}
		}
	}

	// The code and the state work once.
	if place := b.follow(callback); place != site+"/#sign_in=failed" || b.user() != "carol" {
		t.Errorf("the callback again leads to %s", place)
	}

	cookie := b.cookie()
	b.at = two
	got := b.do(http.MethodPost, "/auth/logout", "")
	var answer struct{ Location string }
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.Location != site+"/auth/logout" {
		t.Fatalf("logout: %d %s", got.status, got.body)
	}
	b.at = one
	b.want("signed out", http.StatusUnauthorized)
	u, _ := url.Parse(site)
	b.Jar.SetCookies(u, []*http.Cookie{cookie})
	b.want("with the cookie of before", http.StatusUnauthorized)
	// Only the browser gets the ID token, and once.
	atProvider := b.follow(answer.Location)
	if !strings.HasPrefix(atProvider, idp.Issuer+"/") || !strings.Contains(atProvider, "id_token_hint=eyJ") {
		t.Errorf("sign-out leads to %s", atProvider)
	}
	if again := b.follow(answer.Location); again != site+"/" {
		t.Errorf("sign-out leads again to %s", again)
	}
	if back := idp.SignIn(b.Client, atProvider, ""); strings.TrimSuffix(back, "/") != site {
		t.Errorf("the provider leads to %s", back)
	}
	if left := idp.Sessions(); len(left) > 0 {
		t.Errorf("the provider still has %+v", left)
	}
}

// TestSessionEndedAtProvider ends sessions at the provider: they end here with the next refresh.
func TestSessionEndedAtProvider(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(idp *keycloaktest.Provider){
		"by an administrator":           (*keycloaktest.Provider).EndSessions,
		"with all tokens of the client": (*keycloaktest.Provider).RevokeTokens,
		"with the client":               (*keycloaktest.Provider).Unregister,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idp := startProvider(t)
			b := newBrowser(t, newSignIn(t, sqlstoretest.SQLite(t), idp))
			b.signIn(idp, "carol", "")
			end(idp)
			b.want("until the tokens expire", http.StatusOK)
			b.expire()
			status, text := http.StatusUnauthorized, "the session has ended"
			if name == "with the client" { // it says nothing about the user
				status, text = http.StatusServiceUnavailable, "the identity provider"
			}
			if got := b.do(http.MethodGet, rest.Root+"/user/tokens", ""); got.status != status || !strings.Contains(got.body, text) {
				t.Errorf("after the tokens expired: %d %s", got.status, got.body)
			}
			if status == http.StatusUnauthorized {
				b.want("again", status)
				if b.user() != "" {
					t.Errorf("the page is told of %s", b.user())
				}
			}
		})
	}
}

// TestCodeAndStateOfBefore brings back a sign-in that has succeeded, with the cookie of before.
func TestCodeAndStateOfBefore(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	b := newBrowser(t, newSignIn(t, sqlstoretest.SQLite(t), idp))
	callback := idp.SignIn(b.Client, b.follow(site+"/auth/login"), "carol")
	at := &url.URL{Scheme: "http", Host: "parley.test", Path: "/"}
	cookies := b.Jar.Cookies(at)
	if place := b.follow(callback); place != site+"/" || b.user() != "carol" {
		t.Fatalf("it leads to %s", place)
	}
	copied := newBrowser(t, b.at)
	copied.Jar.SetCookies(at, cookies)
	if place := copied.follow(callback); place != site+"/#sign_in=failed" || copied.user() != "" {
		t.Errorf("with the code again it leads to %s", place)
	}
}

// TestForeignRedirect asks the provider to send codes elsewhere than to what is registered.
func TestForeignRedirect(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	own := newBrowser(t, newSignIn(t, sqlstoretest.SQLite(t), idp)).follow(site + "/auth/login")
	for _, foreign := range []string{"https://evil.test/auth/callback", site + ".evil.test/auth/callback", site + "/auth/callback/more", site + "/auth/callback?more=1", site + "/auth/Callback", site + ":81/auth/callback", "https://parley.test/auth/callback", site + "/"} {
		u, err := url.Parse(own)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set("redirect_uri", foreign)
		u.RawQuery = query.Encode()
		if got := idp.SignIn(keycloaktest.Browser(t), u.String(), "carol"); !strings.HasPrefix(got, "400: ") {
			t.Errorf("%s: it leads to %s", foreign, got)
		}
	}
}

// TestRevokedSession ends a session by the list of tokens. One that the provider does not refresh
// for now continues later.
func TestRevokedSession(t *testing.T) {
	t.Parallel()
	store, idp := sqlstoretest.SQLite(t), startProvider(t)
	b := newBrowser(t, newSignIn(t, store, idp))
	b.signIn(idp, "carol", "")
	id, _, _ := strings.Cut(b.cookie().Value, ".")
	other := newBrowser(t, b.at)
	other.signIn(idp, "carol", "")
	if got := other.do(http.MethodDelete, rest.Root+"/user/token/"+id, ""); got.status != http.StatusOK {
		t.Fatalf("revoke: %d %s", got.status, got.body)
	}
	b.want("revoked", http.StatusUnauthorized)
	other.want("the other session", http.StatusOK)

	restarted := newBrowser(t, newSignIn(t, store, idp, func(c *auth.Config) { c.ClientSecret = "wrong" }))
	restarted.Jar = other.Jar
	other.expire()
	restarted.want("the provider does not know the client", http.StatusServiceUnavailable)
	other.want("at once", http.StatusServiceUnavailable)
	other.expire()
	other.want("the session continues", http.StatusOK)
}

// TestSignInIsBoundToTheBrowser brings back what another browser started, or nothing that any
// did.
func TestSignInIsBoundToTheBrowser(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	s := newSignIn(t, sqlstoretest.SQLite(t), idp)
	mallory, victim := newBrowser(t, s), newBrowser(t, s)
	callback := idp.SignIn(mallory.Client, mallory.follow(site+"/auth/login"), "dave")
	u, err := url.Parse(callback)
	if err != nil {
		t.Fatal(err)
	}
	code := u.Query().Get("code")
	for name, address := range map[string]string{
		"another's callback": callback,
		"no state":           site + "/auth/callback?code=" + code,
		"an empty state":     site + "/auth/callback?state=&code=" + code,
		"an error":           site + "/auth/callback?error=access_denied",
	} {
		if place := victim.follow(address); place != site+"/#sign_in=failed" || victim.user() != "" {
			t.Errorf("%s leads to %s", name, place)
		}
	}
	// The same with a sign-in of one's own under way.
	victim.follow(site + "/auth/login")
	if place := victim.follow(callback); place != site+"/#sign_in=failed" || victim.user() != "" {
		t.Errorf("another's callback leads to %s", place)
	}
	own, err := url.Parse(victim.follow(site + "/auth/login"))
	if err != nil {
		t.Fatal(err)
	}
	if q := own.Query(); q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("nonce") == "" || q.Get("redirect_uri") != site+"/auth/callback" || q.Get("response_type") != "code" {
		t.Errorf("the provider is asked by %s", own)
	}
	// Another's code with one's own state: the verifier is another.
	if place := victim.follow(site + "/auth/callback?state=" + own.Query().Get("state") + "&code=" + code); place != site+"/#sign_in=failed" || victim.user() != "" {
		t.Errorf("another's code leads to %s", place)
	}
	// Neither ends the sign-in of one's own, nor does another one of one's own.
	first, second := victim.follow(site+"/auth/login?return_to=%23/a"), victim.follow(site+"/auth/login?return_to=%23/b")
	victim.follow(callback)
	for address, place := range map[string]string{first: "/#/a", second: "/#/b"} {
		if got := victim.follow(idp.SignIn(victim.Client, address, "carol")); got != site+place || victim.user() != "carol" {
			t.Errorf("one of two sign-ins leads to %s", got)
		}
	}
	denied, _ := url.Parse(victim.follow(site + "/auth/login"))
	if place := victim.follow(site + "/auth/callback?error=access_denied&state=" + denied.Query().Get("state")); place != site+"/#sign_in=denied" {
		t.Errorf("a refusal leads to %s", place)
	}
	if strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Errorf("refused sign-ins are errors in the log: %s", s.log.String())
	}
	for _, foreign := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "#//@evil\r\nX: y", "javascript:alert(1)", "#x", "#/" + strings.Repeat("a", 2000)} {
		b := newBrowser(t, s)
		if _, place := b.signIn(idp, "carol", foreign); place != site+"/" && !strings.HasPrefix(place, site+"/#/") {
			t.Errorf("return_to %q leads to %s", foreign, place)
		}
	}
}

// TestCSRF sends the cookie as pages of other origins can.
func TestCSRF(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	s := newSignIn(t, sqlstoretest.SQLite(t), idp)
	b := newBrowser(t, s)
	b.signIn(idp, "carol", "")
	good := b.headers
	for name, change := range map[string]func(http.Header){
		"no header":           func(h http.Header) { h.Del("X-Requested-With") },
		"of another site":     func(h http.Header) { h.Set("Sec-Fetch-Site", "cross-site") },
		"of another host":     func(h http.Header) { h.Set("Sec-Fetch-Site", "same-site") },
		"of the address bar":  func(h http.Header) { h.Set("Sec-Fetch-Site", "none") },
		"another origin":      func(h http.Header) { h.Set("Origin", "http://evil.test"); h.Del("Sec-Fetch-Site") },
		"no origin":           func(h http.Header) { h.Set("Origin", "null") },
		"another port":        func(h http.Header) { h.Set("Origin", site+":81") },
		"only another scheme": func(h http.Header) { h.Set("Origin", "https://parley.test") },
	} {
		b.headers = good.Clone()
		change(b.headers)
		for _, operation := range []string{"POST /auth/logout", "GET /auth/session", "GET /api/v1/user/tokens", "POST /api/v1/user/token", "POST /api/v1/a2a/nl2ql", "POST /mcp"} {
			method, path, _ := strings.Cut(operation, " ")
			if got := b.do(method, path, `{"name":"x"}`); got.status != http.StatusForbidden {
				t.Errorf("%s, %s: %d %s", name, operation, got.status, got.body)
			}
		}
	}
	b.headers = good
	b.want("afterwards", http.StatusOK)

	if cookie := readSetCookie(t, b); !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Secure {
		t.Errorf("the cookie is %+v", cookie)
	}
	// A bearer token counts alone, and a wrong one is not replaced by the cookie.
	b.headers.Set("Authorization", "Bearer wrong")
	b.want("with a wrong token", http.StatusUnauthorized)
}

// readSetCookie signs out and returns the cookie that does.
func readSetCookie(t *testing.T, b *browser) *http.Cookie {
	t.Helper()
	other := newBrowser(t, b.at)
	other.Jar.SetCookies(&url.URL{Scheme: "http", Host: "parley.test", Path: "/"}, []*http.Cookie{{Name: b.cookie().Name, Value: "x"}})
	got := other.do(http.MethodPost, "/auth/logout", "")
	cookies := (&http.Response{Header: got.header}).Cookies()
	if len(cookies) != 1 || cookies[0].MaxAge != -1 {
		t.Fatalf("logout sets %v", cookies)
	}
	return cookies[0]
}

// TestAnotherUserInTheSameBrowser has two tabs: carol signs in in both, and dave in the second.
func TestAnotherUserInTheSameBrowser(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	b := newBrowser(t, newSignIn(t, sqlstoretest.SQLite(t), idp))
	b.signIn(idp, "carol", "")
	first := *b
	first.headers = b.headers.Clone()
	first.headers.Set("X-Parley-User", "c%61rol")
	first.want("carol", http.StatusOK)

	dave := newBrowser(t, b.at)
	dave.signIn(idp, "dave", "")
	b.Jar.SetCookies(&url.URL{Scheme: "http", Host: "parley.test", Path: "/"}, []*http.Cookie{dave.cookie()})
	b.want("the tab of dave", http.StatusOK)
	first.want("the tab of carol", http.StatusUnauthorized)
	if got := first.do(http.MethodPost, "/auth/logout", ""); got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"location":""}` || len(got.header.Values("Set-Cookie")) > 0 {
		t.Errorf("sign-out in the tab of carol: %d %v", got.status, got.header)
	}
	b.want("the tab of dave afterwards", http.StatusOK)
	first.headers.Set("X-Parley-User", "%")
	first.want("a header that cannot be read", http.StatusBadRequest)
}

// TestCookieOfAnotherHost sends a cookie to a server with another name.
func TestCookieOfAnotherHost(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	s := newSignIn(t, sqlstoretest.SQLite(t), idp)
	b := newBrowser(t, s)
	b.signIn(idp, "carol", "")
	b.want("on its host", http.StatusOK)
	elsewhere := newSignInAt(t, s.store, idp, "https://other.test")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://other.test/api/v1/schema/datasets/all", nil)
	r.Header.Set("X-Requested-With", "parley")
	r.AddCookie(b.cookie())
	w := httptest.NewRecorder()
	elsewhere.rest.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("on another host: %d", w.Code)
	}
	// Over https, only this host can set it.
	w = httptest.NewRecorder()
	elsewhere.rest.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://other.test/auth/login", nil))
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !strings.HasPrefix(cookies[0].Name, "__Host-parley_sign_in_") || !cookies[0].Secure || !cookies[0].HttpOnly || cookies[0].Path != "/" || cookies[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("cookies over https: %v", cookies)
	}
}

func newSignInAt(t *testing.T, store *sqlstore.Store, idp *keycloaktest.Provider, address string) *service {
	t.Helper()
	authenticator, err := auth.New(auth.Config{Issuer: idp.Issuer, ClientID: idp.ClientID, Tokens: store, Sessions: store, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(authenticator.Close)
	return newService(t, store, func(c *rest.Config) { c.Auth, c.BaseURL = authenticator, address+rest.Root })
}

// TestEveryOperationTakesACookie sends every operation with a cookie.
func TestEveryOperationTakesACookie(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	s := newSignIn(t, sqlstoretest.SQLite(t), idp)
	b := newBrowser(t, s)
	b.signIn(idp, "carol", "")
	for _, id := range []string{"conversation", "completed", "dataset-id", "session", "file", "ingestion", "share"} {
		s.vars[id] = domain.NewID()
	}
	for _, operation := range append(s.operations(), "POST /mcp") {
		method, path, _ := strings.Cut(operation, " ")
		if path == rest.PartPath {
			continue // by a signed address
		}
		if path != "/mcp" {
			path = rest.Root + s.at(path)
		}
		if got := b.do(method, path, "{}"); got.status == http.StatusUnauthorized || got.status == http.StatusForbidden && !strings.Contains(operation, "/user/token") {
			t.Errorf("%s: %d %s", operation, got.status, got.body)
		}
	}
	b.want("afterwards", http.StatusOK)
}

// TestProtectedResource goes from a 401 to the metadata, and checks the audience of tokens.
func TestProtectedResource(t *testing.T) {
	t.Parallel()
	idp := startProvider(t)
	s := newSignIn(t, sqlstoretest.SQLite(t), idp)
	b := newBrowser(t, s)
	for path, resource := range map[string]string{"/mcp": site + "/mcp", "/api/v1/query": site, "/api/v1/a2a/nl2ql": site} {
		got := b.do(http.MethodPost, path, "{}").header.Get("WWW-Authenticate")
		_, address, ok := strings.Cut(got, `Bearer resource_metadata="`)
		if address = strings.TrimSuffix(address, `"`); !ok || !strings.HasPrefix(address, site+"/.well-known/oauth-protected-resource") {
			t.Fatalf("%s: %s", path, got)
		}
		var metadata struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		answer := b.do(http.MethodGet, strings.TrimPrefix(address, site), "")
		if err := json.Unmarshal([]byte(answer.body), &metadata); err != nil || metadata.Resource != resource || !slices.Equal(metadata.Servers, []string{idp.Issuer}) || !slices.Equal(metadata.Methods, []string{"header"}) {
			t.Errorf("%s: %d %s", address, answer.status, answer.body)
		}
	}
	b.headers = http.Header{"Authorization": {"Bearer x"}}
	if got := b.do(http.MethodPost, "/mcp", "{}").header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token", resource_metadata="`+site+`/.well-known/oauth-protected-resource/mcp"` {
		t.Errorf("with a wrong token: %s", got)
	}
	other := idp.ClientID + "-other"
	idp.Register(other, site)
	for client, status := range map[string]int{idp.ClientID: http.StatusOK, other: http.StatusUnauthorized} {
		b.headers = http.Header{"Authorization": {"Bearer " + idp.Token(client, "carol", site+"/auth/callback")}}
		b.want("a token of the client "+client, status)
	}
	local := newService(t, sqlstoretest.SQLite(t))
	if got := local.send("-", http.MethodGet, "/.well-known/oauth-protected-resource", "", ""); got.status != http.StatusNotFound {
		t.Errorf("without a provider: %d %s", got.status, got.body)
	}
	if bytes.Contains([]byte(s.log.String()), []byte("carol@example.com")) {
		t.Error("the log has the mail address of the user")
	}
}
