package page

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/golang-jwt/jwt/v5"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// newIdentityProvider starts one that signs everybody in as carol, without asking,
// and takes note of how it was asked. With answer set, it answers by that.
func newIdentityProvider(t *testing.T, answer func(asked url.Values) url.Values) (address string, asked chan url.Values) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes() // 4, then both numbers
	if err != nil {
		t.Fatal(err)
	}
	number := base64.RawURLEncoding.EncodeToString
	asked = make(chan url.Values, 10)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(e2etest.ToJSON(e2etest.Object{"keys": []e2etest.Object{{"kty": "EC", "crv": "P-256", "kid": "k", "alg": "ES256", "use": "sig",
			"x": number(public[1:33]), "y": number(public[33:])}}})))
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		asked <- query
		token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"preferred_username": "Carol", "sub": "17", "exp": time.Now().Add(time.Hour).Unix()})
		token.Header["kid"] = "k"
		signed, err := token.SignedString(key)
		if err != nil {
			t.Error(err)
		}
		answered := url.Values{"access_token": {signed}, "token_type": {"Bearer"}, "state": query["state"]}
		if answer != nil {
			answered = answer(query)
		}
		http.Redirect(w, r, query.Get("redirect_uri")+"#"+answered.Encode(), http.StatusFound)
	})
	return server.URL, asked
}

func provided(t *testing.T, answer func(asked url.Values) url.Values, env ...string) (*e2etest.Process, *tab, chan url.Values) {
	t.Helper()
	idp, asked := newIdentityProvider(t, answer)
	env = append(env, "PARLEY_AUTH_JWKS_URL="+idp+"/keys", "PARLEY_AUTH_URL="+idp+"/authorize?tenant=t", "PARLEY_AUTH_CLIENT_ID=page-of-ours")
	p := e2etest.Serve(t, t.TempDir(), env)
	return p, browse(t, p.URL, idp), asked
}

// TestPageSignsInByProvider goes by OAuth's implicit flow.
func TestPageSignsInByProvider(t *testing.T) {
	onlyFull(t)
	p, b, asked := provided(t, nil)
	b.do(chromedp.Navigate(p.URL + "/#/carol/shop/data"))
	b.mayFail = true // there is no such namespace
	b.press("Sign in with your identity provider")
	b.sees(".sidebar-user", "carol")
	b.sees("[role=alert]", "There is no namespace carol/shop that you may read")
	got := <-asked
	for name, want := range map[string]string{
		"tenant": "t", "response_type": "token", "client_id": "page-of-ours", "scope": "openid", "redirect_uri": p.URL + "/",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	if len(got.Get("state")) < 32 {
		t.Errorf("the state is %q", got.Get("state"))
	}
	if where := get[string](b, "location.href"); where != p.URL+"/#/carol/shop/data" {
		t.Errorf("one comes back to %s", where)
	}
}

// TestPageRefusesProvidersAnswer does not sign in by an answer that was not asked
// for, or that says no.
func TestPageRefusesProvidersAnswer(t *testing.T) {
	onlyFull(t)
	for name, answer := range map[string]struct {
		values url.Values
		words  string
	}{
		"another state": {url.Values{"access_token": {"stolen"}, "state": {"another"}}, "was not begun here"},
		"no state":      {url.Values{"access_token": {"stolen"}}, "was not begun here"},
		"denied":        {url.Values{"error": {"access_denied"}, "error_description": {"Not <b>you</b>"}}, "Not <b>you</b>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, b, _ := provided(t, func(asked url.Values) url.Values {
				if answer.values.Has("error") {
					answer.values.Set("state", asked.Get("state"))
				}
				return answer.values
			})
			b.press("Sign in with your identity provider")
			b.sees("[role=alert]", answer.words)
			if where := get[string](b, "location.href"); strings.ContainsAny(where, "#?") || get[bool](b, `!!sessionStorage.getItem('parley.token')`) {
				t.Errorf("it was used, or left in %s", where)
			}
		})
	}
}
