package auth_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/auth"
)

// What the provider publishes for all to see must not serve to sign.
func TestAlgorithmConfusion(t *testing.T) {
	t.Parallel()
	oct := map[string]any{"kty": "oct", "kid": "oct", "alg": "HS256", "use": "sig", "k": base64.RawURLEncoding.EncodeToString(secret)}
	provider := startIDP(t, one().jwk(), oct)
	authenticators := map[string]*auth.Authenticator{
		"discovered": open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()}),
		"set":        open(t, auth.Config{JWKSURL: provider.issuer + "/keys", HTTPClient: provider.client()}),
	}
	public := rsaOne().Public()
	der := must(x509.MarshalPKIXPublicKey(public))
	jwk := one().jwk()
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	keys := map[string][]byte{
		"PEM":               text,
		"PEM without break": []byte(strings.TrimSpace(string(text))),
		"DER":               der,
		"JWK":               must(json.Marshal(jwk)),
		"modulus":           must(base64.RawURLEncoding.DecodeString(jwk["n"].(string))),
		"modulus as text":   []byte(jwk["n"].(string)),
		"published secret":  secret,
		"nothing":           {},
	}
	tokens := map[string]string{}
	claims := alice(provider.issuer)
	for name, key := range keys {
		for _, algorithm := range []string{"HS256", "HS384", "HS512"} {
			for _, kid := range []any{"one", "oct", nil} {
				tokens[fmt.Sprintf("%s %s %v", name, algorithm, kid)] = signed(algorithm, key, claims, map[string]any{"kid": kid})
			}
		}
		// The algorithm that the key has, over what HMAC makes.
		mac := hmac.New(sha256.New, key)
		head := strings.Join(strings.Split(one().token(claims), ".")[:2], ".")
		mac.Write([]byte(head))
		forged := head + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		for _, a := range authenticators {
			wantRefused(t, a, forged, badSignature)
		}
	}
	for _, none := range []string{"none", "None", "NONE", "nOnE", "none ", "", "HS256\x00", "rs256", "hs256"} {
		header := string(must(json.Marshal(map[string]string{"alg": none, "kid": "one", "typ": "JWT"})))
		body := string(must(json.Marshal(claims)))
		tokens[none+" without signature"] = unsigned(header, body, "")
		tokens[none+" with signature"] = unsigned(header, body, "signature")
	}
	for name, a := range authenticators {
		for kind, token := range tokens {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				wantRefused(t, a, token, badAlgorithm)
			})
		}
	}
}

func TestKeysThatDoNotFit(t *testing.T) {
	t.Parallel()
	misfit := "the token's algorithm does not fit its key"
	rs := func(private crypto.Signer) key { return key{"k", "RS256", private} }
	tests := map[string]struct {
		published any
		signer    key
		message   string
	}{
		"RSA key of another padding": {rs(rsaOne()).jwk(), key{"k", "PS256", rsaOne()}, misfit},
		"RSA key of another hash":    {rs(rsaOne()).jwk(), key{"k", "RS512", rsaOne()}, misfit},
		"EC key for RSA":             {key{"k", "ES256", p256()}.jwk(), rs(rsaOne()), misfit},
		"EC key of another curve":    {key{"k", "ES384", p384()}.jwk(map[string]any{"alg": nil}), key{"k", "ES256", p256()}, misfit},
		"EC key with a wrong alg":    {key{"k", "ES384", p384()}.jwk(map[string]any{"alg": "ES256"}), key{"k", "ES384", p384()}, unknownKey},
		"RSA key with an HMAC alg":   {rs(rsaOne()).jwk(map[string]any{"alg": "HS256"}), rs(rsaOne()), unknownKey},
		"key for encryption":         {rs(rsaOne()).jwk(map[string]any{"use": "enc", "alg": nil}), rs(rsaOne()), unknownKey},
		"encryption algorithm":       {rs(rsaOne()).jwk(map[string]any{"use": nil, "alg": "RSA-OAEP"}), rs(rsaOne()), unknownKey},
		"key to sign only":           {rs(rsaOne()).jwk(map[string]any{"use": nil, "key_ops": []string{"sign"}}), rs(rsaOne()), unknownKey},
		"operations as text":         {rs(rsaOne()).jwk(map[string]any{"use": nil, "key_ops": "verify"}), rs(rsaOne()), unknownKey},
		"large RSA key":              {rs(rsaOne()).jwk(map[string]any{"n": strings.Repeat("_", 1364)}), rs(rsaOne()), badSignature},
		"short RSA key":              {rs(rsaShort()).jwk(), rs(rsaShort()), unknownKey},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The other key keeps the set usable.
			provider := startIDP(t, test.published, two().jwk())
			a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
			wantRefused(t, a, test.signer.token(alice(provider.issuer)), test.message)
			wantCaller(t, a, two().token(alice(provider.issuer)), aliceCaller)
		})
	}
}

func TestKeySetOddities(t *testing.T) {
	t.Parallel()
	provider := startIDP(t,
		7, nil, "text", map[string]any{"kty": "RSA", "kid": 5}, map[string]any{"kty": "OKP", "crv": "Ed448", "x": "AA", "kid": "448"},
		key{"same", "ES256", p256()}.jwk(), key{"same", "RS256", rsaTwo()}.jwk(),
		three().jwk(map[string]any{"d": "AA"}), // a private key
		one().jwk(map[string]any{"x5c": []string{"bm90IGEgY2VydGlmaWNhdGU="}, "x5u": "http://idp.example/cert", "x5t": "AA", "more": 1}),
	)
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
	wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
	wantCaller(t, a, three().token(alice(provider.issuer)), aliceCaller)
	wantCaller(t, a, key{"same", "ES256", p256()}.token(alice(provider.issuer)), aliceCaller)
	wantCaller(t, a, key{"same", "RS256", rsaTwo()}.token(alice(provider.issuer)), aliceCaller)
}

// A token that brings its own key, or says where to fetch it, is not listened to.
func TestKeysInTheTokenAreIgnored(t *testing.T) {
	t.Parallel()
	evil := two()
	attacker := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the attacker's server was asked for %s", r.URL)
	}))
	t.Cleanup(attacker.Close)
	provider := startIDP(t, one().jwk())
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
	headers := []map[string]any{
		{"jwk": evil.jwk()},
		{"jku": attacker.URL + "/keys"},
		{"x5u": attacker.URL + "/cert"},
		{"x5c": []string{base64.StdEncoding.EncodeToString(must(x509.MarshalPKIXPublicKey(evil.private.Public())))}},
	}
	for _, header := range headers {
		for kid, message := range map[string]string{"one": badSignature, "two": unknownKey} {
			wantRefused(t, a, evil.token(alice(provider.issuer), header, map[string]any{"kid": kid}), message)
		}
		wantCaller(t, a, one().token(alice(provider.issuer), header), aliceCaller)
	}
}
