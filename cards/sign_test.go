package cards_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"parley/cards"
	"parley/internal/baseurl"
)

// attested has the public address of the tests' cards.
func attested() context.Context { return baseurl.With(context.Background(), base, true) }

func pemKey(t testing.TB, private any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// newKeys returns one key of each kind.
func newKeys(t testing.TB) (es256, eddsa cards.Key) {
	t.Helper()
	onP256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, on25519, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return parseKey(t, pemKey(t, onP256)), parseKey(t, pemKey(t, on25519))
}

func parseKey(t testing.TB, text []byte) cards.Key {
	t.Helper()
	key, err := cards.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSigner(t testing.TB, keys ...cards.Key) *cards.Signer {
	t.Helper()
	signer, err := cards.NewSigner(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func sign(t testing.TB, signer *cards.Signer, card *a2a.AgentCard) []byte {
	t.Helper()
	signed, err := signer.Sign(attested(), card)
	if err != nil {
		t.Fatal(err)
	}
	data, err := cards.JSON(signed)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// verified returns the forms of a card's signatures that a set of keys verifies.
func verified(t testing.TB, document []byte, keys cards.JWKSet) []cards.Form {
	t.Helper()
	card, err := cards.ReadSigned(document)
	if err != nil {
		t.Fatal(err)
	}
	var forms []cards.Form
	for _, signature := range card.Signatures {
		if form, err := card.Verify(signature, keys); err == nil {
			forms = append(forms, form)
		}
	}
	return forms
}

// allForms are those of Parley's cards, which have no empty fields: all forms are the same.
var allForms = []cards.Form{cards.FormStandard}

func TestSign(t *testing.T) {
	t.Parallel()
	es256, eddsa := newKeys(t)
	for algorithm, key := range map[string]cards.Key{"ES256": es256, "EdDSA": eddsa} {
		signer := newSigner(t, key)
		for _, card := range cards.All(base, version) {
			extended, err := cards.WithExamples(card, []cards.Example{{Text: "Wie viele Bestellungen gab es für „Öl“? 😀 <b>&</b>", Namespace: "alice/shop"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, card := range []*a2a.AgentCard{card, extended} {
				before := string(cardJSON(t, card))
				document := sign(t, signer, card)
				if got := verified(t, document, signer.Keys()); !slices.Equal(got, allForms) {
					t.Errorf("%s %s: verified %q", algorithm, card.Name, got)
				}
				if again := sign(t, newSigner(t, key), card); string(again) != string(document) {
					t.Errorf("%s: signed again, it is another document", algorithm)
				}
				if after := string(cardJSON(t, card)); after != before {
					t.Errorf("%s: signing changed the card", algorithm)
				}
				checkHeaders(t, document, algorithm, key.ID())
				checkWithJWT(t, document, signer.Keys())
			}
		}
	}
}

// checkHeaders holds what the protocol wants of a signature.
func checkHeaders(t *testing.T, document []byte, algorithm, id string) {
	t.Helper()
	var card a2apb.AgentCard
	if err := protojson.Unmarshal(document, &card); err != nil {
		t.Fatal(err)
	}
	for _, signature := range card.GetSignatures() {
		text, err := base64.RawURLEncoding.DecodeString(signature.GetProtected())
		if err != nil {
			t.Fatal(err)
		}
		var header map[string]string
		if err := json.Unmarshal(text, &header); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"alg": algorithm, "typ": "JOSE", "kid": id, "jku": "https://parley.example/.well-known/jwks.json"}
		if diff := cmp.Diff(want, header); diff != "" {
			t.Errorf("protected header (- want, + got):\n%s", diff)
		}
	}
}

// checkWithJWT verifies the signatures with another implementation of JWS. The payload is
// made here by the rules: what is left out of Parley's cards is known.
func checkWithJWT(t *testing.T, document []byte, keys cards.JWKSet) {
	t.Helper()
	texts, err := cards.Payloads(document)
	if err != nil {
		t.Fatal(err)
	}
	var signed struct{ Signatures []a2a.AgentCardSignature }
	if err := json.Unmarshal(document, &signed); err != nil {
		t.Fatal(err)
	}
	if len(signed.Signatures) != len(allForms) {
		t.Fatalf("%d signatures", len(signed.Signatures))
	}
	for i, s := range signed.Signatures {
		signature, err := base64.RawURLEncoding.DecodeString(s.Signature)
		if err != nil {
			t.Fatal(err)
		}
		method := jwt.GetSigningMethod(keys.Keys[0].Algorithm)
		input := s.Protected + "." + base64.RawURLEncoding.EncodeToString([]byte(texts[allForms[i]]))
		if err := method.Verify(input, signature, keys.Keys[0].Key); err != nil {
			t.Errorf("%s: %v", allForms[i], err)
		}
		if err := method.Verify(input+"x", signature, keys.Keys[0].Key); err == nil {
			t.Errorf("%s: another text is verified", allForms[i])
		}
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	older, newer := newKeys(t)
	before, during, after := newSigner(t, older), newSigner(t, newer, older), newSigner(t, newer)
	old, fresh := sign(t, before, cards.NL2QL(base, version)), sign(t, during, cards.NL2QL(base, version))
	for name, test := range map[string]struct {
		document []byte
		keys     cards.JWKSet
		want     []cards.Form
	}{
		"an old card during the rotation": {old, during.Keys(), allForms},
		"a new card during the rotation":  {fresh, during.Keys(), allForms},
		"a new card afterwards":           {fresh, after.Keys(), allForms},
		"an old card afterwards":          {old, after.Keys(), nil},
		"a new card before":               {fresh, before.Keys(), nil},
	} {
		if got := verified(t, test.document, test.keys); !slices.Equal(got, test.want) {
			t.Errorf("%s: verified %q", name, got)
		}
	}
	if keys := during.Keys().Keys; len(keys) != 2 || keys[0].KeyID != newer.ID() || keys[1].KeyID != older.ID() {
		t.Errorf("published: %+v", keys)
	}
	if _, err := cards.NewSigner(); err == nil {
		t.Error("a signer without a key")
	}
	if _, err := cards.NewSigner(older, older); err == nil {
		t.Error("a signer with one key twice")
	}
}

// A client that chooses the host gets no signature for it.
func TestUnattestedAddressIsNotSigned(t *testing.T) {
	t.Parallel()
	key, _ := newKeys(t)
	signer := newSigner(t, key)
	for name, test := range map[string]struct {
		ctx  context.Context
		want int
	}{
		"configured": {baseurl.With(t.Context(), base, true), 1},
		"attested":   {baseurl.WithAttested(t.Context(), base), 1},
		"chosen":     {baseurl.With(t.Context(), base, false), 0},
		"unknown":    {t.Context(), 0},
	} {
		card := cards.Assistant(base, version)
		card.Signatures = []a2a.AgentCardSignature{{Protected: "old", Signature: "old"}}
		signed, err := signer.Sign(test.ctx, card)
		if err != nil || len(signed.Signatures) != test.want {
			t.Errorf("%s: %d signatures, %v", name, len(signed.Signatures), err)
		}
		document, err := signer.SignDocument(test.ctx, []byte(`{"url":"u"}`))
		if err != nil || strings.Contains(string(document), "signatures") != (test.want > 0) {
			t.Errorf("%s: %s, %v", name, document, err)
		}
	}
	if _, err := signer.Sign(attested(), nil); err == nil {
		t.Error("no card was signed")
	}
}

func TestSignDocument(t *testing.T) {
	t.Parallel()
	_, key := newKeys(t)
	signer := newSigner(t, key)
	const card = `{"protocolVersion":"0.3.0","name":"nl2ql","url":"u","security":[{"bearer":[]}],"skills":[]}`
	signed, err := signer.SignDocument(attested(), []byte(card))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := verified(t, signed, signer.Keys()), []cards.Form{cards.FormDocument}; !slices.Equal(got, want) || strings.Count(string(signed), `"protected"`) != 1 {
		t.Errorf("verified %q, want %q: %s", got, want, signed)
	}
	if again, err := signer.SignDocument(attested(), signed); err != nil || string(again) != string(signed) {
		t.Errorf("signed again: %s, %v", again, err)
	}
	for _, document := range []string{"", "[]", "null", "{}", `{"a":1}{}`, `{"signatures":[]}`, `{"a":1,"a":2}`} {
		if got, err := signer.SignDocument(attested(), []byte(document)); err == nil {
			t.Errorf("%q was signed: %s", document, got)
		}
	}
}

// A card is signed when it changes, and read far more often.
func BenchmarkSign(b *testing.B) {
	key, err := cards.DeriveKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		b.Fatal(err)
	}
	card := cards.Assistant(base, version)
	for name, signer := range map[string]func() *cards.Signer{
		"first": func() *cards.Signer { return newSigner(b, key) },
		"again": sync.OnceValue(func() *cards.Signer { return newSigner(b, key) }),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := signer().Sign(attested(), card); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
