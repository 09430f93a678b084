package page

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/keycloaktest"
)

// stall has carol's orders.
var stall = e2etest.Folder{Fill: func(p *e2etest.Process) {
	c := e2etest.Client{Process: p, Token: p.Token("carol")}
	if status := c.Ask("POST", "/ingest/stall/orders", e2etest.Object{"data": []e2etest.Object{{"item": "quince"}}}, nil); status != http.StatusOK {
		p.T.Fatalf("ingest: %d", status)
	}
}}

// keycloak starts a server that signs browsers in with Keycloak. To a browser, each is another
// site.
func keycloak(t *testing.T) (*keycloaktest.Provider, *e2etest.Process, *tab) {
	t.Helper()
	idp := keycloaktest.Start(t)
	issuer := strings.Replace(idp.Issuer, "127.0.0.1", "localhost", 1)
	p := e2etest.Serve(t, stall.Copy(t), []string{
		"PARLEY_AUTH_ISSUER=" + issuer, "PARLEY_AUTH_AUDIENCE=" + idp.ClientID, "PARLEY_AUTH_CLIENT_ID=" + idp.ClientID,
		"OIDC_CLIENT_SECRET=" + keycloaktest.ClientSecret,
	})
	idp.Register(idp.ClientID, p.URL)
	return idp, p, browse(t, p.URL+"/#/carol/stall/data/orders", issuer[:strings.Index(issuer, "/realms/")])
}

// providerSignIn fills in the form of Keycloak.
func (b *tab) providerSignIn(user string) {
	b.t.Helper()
	b.press("Sign in with your identity provider")
	b.write("#username", user)
	b.write("#password", keycloaktest.Password)
	b.click(`//*[@id="kc-login"]`)
}

// expireTokens has the tokens of all sessions of a server expire.
func expireTokens(t *testing.T, p *e2etest.Process) {
	t.Helper()
	db, err := sqlx.Open("sqlite", filepath.Join(p.Dir, "parley-data", "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `PRAGMA busy_timeout = 60000; UPDATE web_sessions SET refresh_at = 1`); err != nil {
		t.Fatal(err)
	}
}

// TestSignInWithKeycloak signs in, loads the page again, refreshes the session and signs out. Then
// others can sign in.
func TestSignInWithKeycloak(t *testing.T) {
	t.Parallel()
	idp, p, b := keycloak(t)
	b.sees("h1", "Ask about your data")
	b.providerSignIn("carol")
	b.sees(".sidebar-user", "carol")
	b.sees(".rows-frame", "quince")
	place := p.URL + "/#/carol/stall/data/orders"
	if where := get[string](b, "location.href"); where != place {
		t.Errorf("one comes back to %s", where)
	}
	if seen := get[string](b, "document.cookie + JSON.stringify({...sessionStorage, ...localStorage})"); strings.Contains(seen, "parley_session") || strings.Contains(seen, "eyJ") {
		t.Errorf("scripts can read %s", seen)
	}
	b.do(chromedp.Reload())
	b.sees(".sidebar-user", "carol")
	b.sees(".rows-frame", "quince")
	expireTokens(t, p)
	b.do(chromedp.Reload())
	b.sees(".rows-frame", "quince")

	b.is(`(window.before = true)`)
	b.press("Sign out")
	b.is(`!window.before && document.querySelector('.sign-in') && !location.hash && location.origin === ` + e2etest.ToJSON(p.URL))
	if left := idp.Sessions(); len(left) > 0 {
		t.Errorf("the provider still has %+v", left)
	}
	b.providerSignIn("dave") // Keycloak asks again
	b.sees(".sidebar-user", "dave")
	if text := get[string](b, "document.body.innerText"); strings.Contains(text, "quince") {
		t.Errorf("dave sees %s", text)
	}
}

// TestSessionEndsWithKeycloak ends a session at the provider while the page is open.
func TestSessionEndsWithKeycloak(t *testing.T) {
	t.Parallel()
	idp, p, b := keycloak(t)
	b.mayFail = true // 401
	b.providerSignIn("carol")
	b.sees(".rows-frame", "quince")
	idp.EndSessions()
	expireTokens(t, p)
	b.press("Data")
	b.sees("[role=alert]", "Your session has ended. Sign in again.")
	b.is(`!document.querySelector('.sidebar-user') && !document.body.innerText.includes('quince')`)
	b.providerSignIn("carol")
	b.sees(".sidebar-user", "carol")
}
