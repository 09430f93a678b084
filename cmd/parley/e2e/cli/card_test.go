package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestCardVerify verifies the cards of a server, and what somebody in between makes of them.
func TestCardVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := e2etest.Serve(t, dir, nil)
	read := func(path string) string {
		status, text := p.Call("", http.MethodGet, path, "")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		return text
	}
	card, keys := read("/.well-known/agent-card.json"), read("/.well-known/jwks.json")
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	served := map[string]string{
		"/copy.json":                         card,
		"/changed.json":                      strings.Replace(card, "answers in Markdown", "asks for money", 1),
		"/open.json":                         strings.Replace(card, `,"securityRequirements":[{"schemes":{"bearer":{"list":["read"]}}}]`, "", 1),
		"/other.json":                        strings.Replace(card, `"bearerFormat":"JWT"`, `"bearerFormat":"none"`, 1),
		"/plain.json":                        `{"name":"plain","url":"u"}`,
		"/broken.json":                       `{"name":`,
		"/twice.json":                        `{"name":"a","name":"b"}`,
		"/nowhere.json":                      `{"name":"x","signatures":[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ","signature":"AA"}]}`,
		"/a2a/x/.well-known/agent-card.json": card,
	}
	sent := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Get("Authorization")
		switch text, ok := served[r.URL.Path]; {
		case ok:
			_, _ = io.WriteString(w, text)
		case r.URL.Path == "/moved.json":
			http.Redirect(w, r, p.URL+"/.well-known/agent-card.json", http.StatusFound)
		case r.URL.Path == "/huge.json":
			_, _ = io.WriteString(w, strings.Repeat(" ", 2<<20))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(other.Close)
	own := p.URL + "/.well-known/jwks.json"
	env := []string{"PARLEY_SERVER=" + p.URL, "PARLEY_TOKEN=" + p.Token("alice")}
	for _, test := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"the host", []string{p.URL}, e2etest.ExitOK, []string{"verified: the card\n", "ES256, key ", own}},
		{"an agent", []string{p.URL + "/api/v1/a2a/nl2ql"}, e2etest.ExitOK, []string{"verified: the card\n"}},
		{"an address", []string{p.URL + "/.well-known/agent-card.json"}, e2etest.ExitOK, []string{"verified: the card\n"}},
		{"JSON", []string{p.URL, "--json"}, e2etest.ExitOK, []string{`{"card":"` + p.URL + `/.well-known/agent-card.json","signatures":[{"verified":true,"alg":"ES256","kid":"`, `"form":"standard"`}},
		{"keys at another host", []string{other.URL + "/copy.json"}, e2etest.ExitFailed, []string{"not verified: its key is not on the host of the card", "no signature of it verifies"}},
		{"keys that are trusted", []string{other.URL + "/copy.json", "--keys", own}, e2etest.ExitOK, []string{"verified: the card\n"}},
		{"keys in a file", []string{other.URL + "/a2a/x/", "--keys", "keys.json"}, e2etest.ExitOK, []string{"verified: the card\n", "keys.json"}},
		{"a changed card", []string{other.URL + "/changed.json", "--keys", own}, e2etest.ExitFailed, []string{"not verified: the signature does not fit the card"}},
		{"a changed card, JSON", []string{other.URL + "/changed.json", "--keys", own, "--json"}, e2etest.ExitFailed, []string{`"verified":false`, `"reason":"the signature does not fit the card`}},
		{"a card that needs no token", []string{other.URL + "/open.json", "--keys", own}, e2etest.ExitFailed, []string{"not verified: the signature does not fit the card"}},
		{"another scheme", []string{other.URL + "/other.json", "--keys", own}, e2etest.ExitFailed, []string{"not verified: the signature does not fit the card"}},
		{"no signatures", []string{other.URL + "/plain.json"}, e2etest.ExitFailed, []string{"it has no signatures"}},
		{"no JSON", []string{other.URL + "/broken.json"}, e2etest.ExitFailed, []string{"read the card at"}},
		{"a field twice", []string{other.URL + "/twice.json"}, e2etest.ExitFailed, []string{`"name" is twice`}},
		{"keys nowhere", []string{other.URL + "/nowhere.json"}, e2etest.ExitFailed, []string{"it has no address of its key"}},
		{"no such key", []string{other.URL + "/nowhere.json", "--keys", own}, e2etest.ExitFailed, []string{`there is no key "x" among the 1 keys`}},
		{"no keys", []string{p.URL, "--keys", other.URL + "/none.json"}, e2etest.ExitFailed, []string{"read the keys: the server says 404"}},
		{"no file", []string{p.URL, "--keys", "none.json"}, e2etest.ExitFailed, []string{"read the keys: open none.json"}},
		{"a redirection", []string{other.URL + "/moved.json"}, e2etest.ExitFailed, []string{"the server says 302"}},
		{"too large", []string{other.URL + "/huge.json"}, e2etest.ExitFailed, []string{"larger than"}},
		{"no card", []string{other.URL}, e2etest.ExitNotFound, []string{"there is no card at " + other.URL + "/.well-known/agent-card.json"}},
		{"no server", []string{"http://127.0.0.1:1"}, e2etest.ExitUnavailable, []string{"no answer from http://127.0.0.1:1"}},
		{"no address", []string{"parley.example"}, e2etest.ExitUsage, []string{"URL must be an http or https address"}},
		{"nothing", nil, e2etest.ExitUsage, []string{"<url>"}},
	} {
		got := e2etest.RunCommand(t, dir, env, append([]string{"card", "verify"}, test.args...)...)
		for _, want := range test.want {
			if got.Code != test.code || !strings.Contains(got.Stdout+got.Stderr, want) {
				t.Errorf("%s: exit %d, want %d and %q in:\n%s%s", test.name, got.Code, test.code, want, got.Stdout, got.Stderr)
			}
		}
	}
	close(sent)
	for authorization := range sent {
		if authorization != "" {
			t.Errorf("a token went to another server: %.20s", authorization)
		}
	}
}
