package server

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/cards"
	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/nodetest"
	"parley/cmd/parley/e2e/helpers/pgtest"
)

// publicCards are the paths of cards that need no token.
var publicCards = []string{
	"/api/v1/a2a/nl2ql/.well-known/agent-card.json", "/api/v1/a2a/assistant/.well-known/agent-card.json",
	"/api/v1/a2a/.well-known/agent-card.json", "/.well-known/agent-card.json",
}

// get reads a document, for a host if one is given.
func get(t *testing.T, address, host string) (http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", address, response.StatusCode, text, err)
	}
	return response.Header, text
}

func cardKeys(t *testing.T, p *e2etest.Process) (keys cards.JWKSet) {
	t.Helper()
	header, text := get(t, p.URL+"/.well-known/jwks.json", "")
	if err := json.Unmarshal(text, &keys); err != nil || header.Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("keys: %v %v %s", err, header, text)
	}
	return keys
}

// extendedCard reads an agent's card for alice, when its examples are found.
func extendedCard(t *testing.T, p *e2etest.Process, agent string) (card []byte) {
	t.Helper()
	awaitExamples(t, p)
	status, text := p.Call(p.Token("alice"), http.MethodPost, "/api/v1/a2a/"+agent, `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`)
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.Result == nil {
		t.Fatalf("the extended card of %s: %d %s", agent, status, text)
	}
	return answer.Result
}

// awaitExamples waits until the cards of alice have examples: what is not found at once is on a later
// one.
func awaitExamples(t testing.TB, p *e2etest.Process) {
	t.Helper()
	e2etest.Eventually(t, func() bool {
		_, text := p.Call(p.Token("alice"), http.MethodPost, "/api/v1/a2a/nl2ql", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`)
		return strings.Contains(text, `"examples":[`)
	})
}

// checkSigned verifies all signatures of a card, and that they name the keys of a host.
func checkSigned(t *testing.T, card []byte, site string, keys cards.JWKSet, algorithm string) {
	t.Helper()
	signed, err := cards.ReadSigned(card)
	if err != nil {
		t.Fatal(err)
	}
	var forms []cards.Form
	for _, signature := range signed.Signatures {
		form, err := signed.Verify(signature, keys)
		if err != nil || signature.KeysURL != site+"/.well-known/jwks.json" || signature.KeyID != keys.Keys[0].KeyID || signature.Algorithm != algorithm {
			t.Errorf("%+v: %v\n%s", signature, err, card)
		}
		forms = append(forms, form)
	}
	if !slices.Equal(forms, []cards.Form{cards.FormStandard}) {
		t.Errorf("signed as %q: %s", forms, card)
	}
}

// TestSignedCards verifies every card of a server that nobody has set up.
func TestSignedCards(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	keys := cardKeys(t, c.Process)
	for _, path := range publicCards {
		header, card := get(t, c.URL+path, "")
		checkSigned(t, card, c.URL, keys, "ES256")
		if again, _ := get(t, c.URL+path, ""); again.Get("ETag") != header.Get("ETag") || header.Get("ETag") == "" {
			t.Errorf("%s changes: %v, %v", path, header, again)
		}
		// Nothing is signed for a host that the client has made up.
		if _, card := get(t, c.URL+path, "evil.example"); strings.Contains(string(card), "signatures") || !strings.Contains(string(card), "http://evil.example/") {
			t.Errorf("%s for another host: %s", path, card)
		}
	}
	for _, agent := range []string{"nl2ql", "assistant"} {
		card := extendedCard(t, c.Process, agent)
		checkSigned(t, card, c.URL, keys, "ES256")
		if !strings.Contains(string(card), `"examples":[`) {
			t.Errorf("no examples: %s", card)
		}
	}
	for _, path := range publicCards[2:] {
		if _, card := get(t, c.URL+path, ""); !strings.Contains(string(card), `"name":"assistant"`) {
			t.Errorf("%s: %s", path, card)
		}
	}
	_, text := get(t, c.URL+"/.well-known/ai-catalog.json", "")
	var catalog struct {
		Entries []struct{ DisplayName, Type, URL string }
	}
	if err := json.Unmarshal(text, &catalog); err != nil || len(catalog.Entries) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, entry := range catalog.Entries {
		if _, card := get(t, entry.URL, ""); !strings.Contains(string(card), `"name":"`+entry.DisplayName+`"`) || entry.Type != "application/a2a-agent-card+json" {
			t.Errorf("%+v: %s", entry, card)
		}
	}
}

// TestCardKeyIsShared has servers on one database sign with one key, which a restart keeps.
func TestCardKeyIsShared(t *testing.T) {
	t.Parallel()
	env := []string{"PARLEY_DATABASE_URL=" + pgtest.URL(t)}
	one, two := e2etest.Serve(t, t.TempDir(), env), e2etest.Serve(t, t.TempDir(), env)
	_, card := get(t, one.URL+publicCards[0], "")
	checkSigned(t, card, one.URL, cardKeys(t, two), "ES256")

	dir := t.TempDir()
	first := e2etest.Serve(t, dir, nil)
	_, card = get(t, first.URL+publicCards[0], "")
	first.Signal(syscall.SIGTERM)
	first.Wait()
	second := e2etest.Serve(t, dir, nil)
	checkSigned(t, card, first.URL, cardKeys(t, second), "ES256")
	if other := cardKeys(t, one).Keys[0].KeyID; other == cardKeys(t, second).Keys[0].KeyID {
		t.Error("two databases have one key")
	}
}

// TestCardKeysAreRotated goes from one key to another, with both published in between.
func TestCardKeysAreRotated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	onP256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, on25519, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]any{"old.pem": onP256, "new.pem": on25519} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const base = "https://parley.example/api/v1"
	var older []byte
	for _, step := range []struct {
		keys, algorithm string
		published       int
		verifiesOlder   bool
	}{
		{"old.pem", "ES256", 1, true},
		{"new.pem, old.pem", "EdDSA", 2, true},
		{"new.pem", "EdDSA", 1, false},
	} {
		p := e2etest.Serve(t, dir, []string{"PARLEY_CARD_KEYS=" + step.keys, "PARLEY_BASE_URL=" + base})
		keys := cardKeys(t, p)
		// With a configured address, any host gets a signed card: with that address.
		_, card := get(t, p.URL+publicCards[1], "evil.example")
		checkSigned(t, card, "https://parley.example", keys, step.algorithm)
		if older == nil {
			older = card
		}
		signed, err := cards.ReadSigned(older)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signed.Verify(signed.Signatures[0], keys); (err == nil) != step.verifiesOlder || len(keys.Keys) != step.published {
			t.Errorf("%s: %d keys, the older card: %v", step.keys, len(keys.Keys), err)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.pem"), []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := e2etest.RunCommand(t, dir, nil, "serve", "--card-keys", "broken.pem,missing.pem,.")
	for _, want := range []string{"--card-keys", "broken.pem", "missing.pem"} {
		if got.Code != e2etest.ExitUsage || !strings.Contains(got.Stderr, want) || strings.Contains(got.Stderr, "a secret") {
			t.Errorf("no %q: %+v", want, got)
		}
	}
}

// TestJavaScriptVerifiesCards has @a2a-js/sdk verify the signatures, and refuse a card that
// was changed.
func TestJavaScriptVerifiesCards(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	packages := installed(t, "js")
	c := e2etest.Shop(t)
	documents := map[string][]byte{}
	for _, path := range publicCards {
		_, documents[path] = get(t, c.URL+path, "")
	}
	for _, agent := range []string{"nl2ql", "assistant"} {
		documents["extended "+agent] = extendedCard(t, c.Process, agent)
	}
	verifier := exec.CommandContext(t.Context(), "node", nodetest.Script(t, packages, "testdata/js/verify.mjs"))
	verifier.Stderr = t.Output()
	stdin, err := verifier.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := verifier.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = verifier.Wait() })
	lines := bufio.NewScanner(stdout)
	verify := func(card []byte) string {
		t.Helper()
		var line bytes.Buffer
		if err := json.Compact(&line, card); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(stdin, line.String()); err != nil || !lines.Scan() {
			t.Fatal(err, lines.Err())
		}
		return lines.Text()
	}
	const verified, refused = "verified", "No valid signatures found on agent card."
	for name, card := range documents {
		if got := verify(card); got != verified {
			t.Errorf("%s: %s\n%s", name, got, card)
		}
	}
	card := documents[publicCards[0]]
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(card, &fields); err != nil {
		t.Fatal(err)
	}
	for field, others := range map[string][]string{
		"description":          {`"other"`},
		"securitySchemes":      {"", "{}", `{"bearer":{"oauth2SecurityScheme":{"oauth2MetadataUrl":"https://evil.example"}}}`},
		"securityRequirements": {"", "[]", `[{"schemes":{"bearer":{"list":[]}}}]`, `[{"schemes":{"other":{"list":["read"]}}}]`},
	} {
		for _, other := range others {
			changed := maps.Clone(fields)
			if changed[field] = json.RawMessage(other); other == "" {
				delete(changed, field)
			}
			text, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			if got := verify(text); got != refused {
				t.Errorf("with %s %q: %s", field, other, got)
			}
			if signed, err := cards.ReadSigned(text); err != nil {
				t.Error(err)
			} else if form, err := signed.Verify(signed.Signatures[0], cardKeys(t, c.Process)); err == nil {
				t.Errorf("with %s %q: verified as %s", field, other, form)
			}
		}
	}
}
