package cards_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"parley/cards"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	onP256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	onP384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(onP256)
	if err != nil {
		t.Fatal(err)
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	parameters := block("EC PARAMETERS", []byte{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7})
	want := parseKey(t, pemKey(t, onP256)).ID()
	for name, text := range map[string]string{
		"SEC 1":          block("EC PRIVATE KEY", sec1),
		"of openssl":     parameters + block("EC PRIVATE KEY", sec1),
		"with a heading": "my key\n" + string(pemKey(t, onP256)),
	} {
		if got, err := cards.ParseKey([]byte(text)); err != nil || got.ID() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing":           "",
		"words":             "secret",
		"another curve":     string(pemKey(t, onP384)),
		"RSA":               string(pemKey(t, private)),
		"a public key":      block("PUBLIC KEY", []byte{1}),
		"an encrypted key":  block("ENCRYPTED PRIVATE KEY", []byte{1}),
		"a broken key":      block("PRIVATE KEY", []byte{1}),
		"a broken EC key":   block("EC PRIVATE KEY", []byte{1}),
		"parameters alone":  parameters,
		"a certificate":     block("CERTIFICATE", sec1),
		"a broken PEM file": "-----BEGIN PRIVATE KEY-----\nxxx",
	} {
		if _, err := cards.ParseKey([]byte(text)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// Replicas derive the same key from the secret that they share.
func TestDeriveKey(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, secret := range []string{strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("a", 33)} {
		one, err := cards.DeriveKey([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		two, err := cards.DeriveKey([]byte(secret))
		if err != nil || one.ID() != two.ID() {
			t.Errorf("%s and %s of one secret: %v", one.ID(), two.ID(), err)
		}
		ids[one.ID()] = true
	}
	if len(ids) != 3 {
		t.Errorf("keys of three secrets: %v", ids)
	}
	if _, err := cards.DeriveKey([]byte("short")); err == nil {
		t.Error("a key of five bytes")
	}
}

// The examples of RFC 7515, appendix A.3, and RFC 8037, appendix A.
func TestStandardVectors(t *testing.T) {
	t.Parallel()
	decode := func(text string) []byte {
		data, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var onP256 cards.JWKSet
	if err := json.Unmarshal([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`), &onP256); err != nil {
		t.Fatal(err)
	}
	const protected, signature = "eyJhbGciOiJFUzI1NiJ9", "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
	text := string(decode("eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"))
	if err := cards.VerifyText(protected, text, signature, onP256); err != nil {
		t.Errorf("RFC 7515, A.3: %v", err)
	}
	if err := cards.VerifyText(protected, text+"x", signature, onP256); err == nil {
		t.Error("another text was verified")
	}

	key := parseKey(t, pemKey(t, ed25519.NewKeyFromSeed(decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"))))
	published, err := json.Marshal(newSigner(t, key).Keys())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"keys":[{"use":"sig","kty":"OKP","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","crv":"Ed25519","alg":"EdDSA","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	if string(published) != want {
		t.Errorf("RFC 8037, A.2 and A.3: %s, want %s", published, want)
	}
	got, err := key.SignText("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc")
	if err != nil || got != "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg" {
		t.Errorf("RFC 8037, A.4: %s, %v", got, err)
	}
}
