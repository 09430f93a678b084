// Package dextest gives tests a real identity provider: dex, with users, clients and sessions
// in memory. It builds the program from the Go module proxy when it is first needed, and stores
// it in the user's cache folder. PARLEY_TEST_DEX can be set to the path of another one.
package dextest

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/servertest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// version is that of a commit with the end of sessions by OpenID Connect; releases of dex are no
// versions of Go modules.
const version = "v0.0.0-20260806151424-ab64ed778070"

var program = servertest.Program{
	Name: "dex", Version: version, Variable: "PARLEY_TEST_DEX",
	Steps: [][]string{
		{"mod", "init", "dex"},
		{"get", "github.com/dexidp/dex/cmd/dex@" + version, "github.com/dexidp/dex/api/v2@v2.4.1-0.20260806151424-ab64ed778070"},
		{"build", "-trimpath", "-ldflags=-s -w", "-o", "dex", "github.com/dexidp/dex/cmd/dex"},
	},
}

// ClientID is the client that is registered, with ClientSecret.
const (
	ClientID     = "parley"
	ClientSecret = "the secret of the client"
)

// Password is that of both users, carol and dave, at example.com.
const Password = "password"

// passwordHash is the one of Password in bcrypt.
const passwordHash = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"

type object = map[string]any

// Provider is a running dex.
type Provider struct {
	Issuer string
	t      testing.TB
}

// Start runs dex until the test ends. Its clients may redirect to these addresses, and its ID
// tokens are valid for so long, such as "24h". Without its program the test is skipped.
func Start(t testing.TB, idTokens string, redirects, afterLogout []string) *Provider {
	t.Helper()
	path, err := program.Path()
	if errors.Is(err, servertest.ErrNoProgram) {
		// Not all module proxies have a version of its second module, also on machines of CI.
		t.Skipf("SKIPPED, no test of sign-in with a real provider: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	p := &Provider{Issuer: "http://" + address + "/dex", t: t}
	user := func(name, id string) object {
		return object{"email": name + "@example.com", "hash": passwordHash, "username": name, "preferredUsername": name, "userID": id}
	}
	config, err := json.Marshal(object{
		"issuer": p.Issuer, "storage": object{"type": "memory"}, "web": object{"http": address},
		"oauth2": object{"skipApprovalScreen": true}, "enablePasswordDB": true,
		"expiry":   object{"idTokens": idTokens},
		"sessions": object{"absoluteLifetime": "24h", "validIfNotUsedFor": "1h"},
		"staticClients": []object{
			{"id": ClientID, "secret": ClientSecret, "name": "Parley", "redirectURIs": redirects, "postLogoutRedirectURIs": afterLogout},
			{"id": "other", "secret": ClientSecret, "name": "Other", "redirectURIs": redirects},
		},
		"staticPasswords": []object{user("carol", "17"), user("dave", "18")},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dex.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &logtest.Buffer{}
	cmd := exec.CommandContext(t.Context(), path, "serve", file)
	cmd.Env = append(os.Environ(), "DEX_SESSIONS_ENABLED=true")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of dex:\n%s", log)
		}
	})
	waittest.Until(t, "dex does not answer", func() bool {
		response, err := http.Get(p.Issuer + "/.well-known/openid-configuration")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
	return p
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
// a user in on the way.
func (p *Provider) SignIn(browser *http.Client, address, user string) string {
	p.t.Helper()
	form := url.Values{}
	for range 10 {
		method, body := browser.Get, url.Values(nil)
		if len(form) > 0 {
			body, form = form, url.Values{}
			method = func(at string) (*http.Response, error) { return browser.PostForm(at, body) }
		}
		response, err := method(address)
		if err != nil {
			p.t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			p.t.Fatal(err)
		}
		if to, err := response.Location(); err == nil {
			if address = to.String(); len(address) < len(p.Issuer) || address[:len(p.Issuer)] != p.Issuer {
				return address
			}
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
		address, form = to.String(), url.Values{"login": {user + "@example.com"}, "password": {Password}}
	}
	p.t.Fatalf("the sign-in does not end: %s", address)
	return ""
}

// Token returns the ID token of a user for a client.
func (p *Provider) Token(client, user, redirect string) string {
	p.t.Helper()
	query := url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {"openid profile"}, "state": {"s"}}
	back, err := url.Parse(p.SignIn(Browser(p.t), p.Issuer+"/auth?"+query.Encode(), user))
	if err != nil {
		p.t.Fatal(err)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {redirect}, "client_id": {client}, "client_secret": {ClientSecret}}
	response, err := http.PostForm(p.Issuer+"/token", form)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var token struct {
		ID string `json:"id_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil || token.ID == "" {
		p.t.Fatalf("token: %s, %v", response.Status, err)
	}
	return token.ID
}
