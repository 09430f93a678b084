package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"parley/internal/auth"
	"parley/internal/domain"
)

// key is a private key of a provider, under a name and for an algorithm.
type key struct {
	id        string
	algorithm string
	private   crypto.Signer
}

// Making RSA keys is slow, so that all tests share theirs.
var (
	rsaOne   = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	rsaTwo   = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	rsaThree = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	rsaShort = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 1024)) })
	p256     = sync.OnceValue(func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384     = sync.OnceValue(func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521     = sync.OnceValue(func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edwards  = sync.OnceValue(func() crypto.Signer {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return must(private, err)
	})
)

// The keys that most tests use.
var (
	one   = sync.OnceValue(func() key { return key{"one", "RS256", rsaOne()} })
	two   = sync.OnceValue(func() key { return key{"two", "RS256", rsaTwo()} })
	three = sync.OnceValue(func() key { return key{"three", "RS256", rsaThree()} })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// jwk is what a provider publishes of the key, with fields changed as given.
func (k key) jwk(changes ...map[string]any) map[string]any {
	published := jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id, Algorithm: k.algorithm, Use: "sig"}
	var fields map[string]any
	if err := json.Unmarshal(must(published.MarshalJSON()), &fields); err != nil {
		panic(err)
	}
	return with(fields, changes...)
}

// token signs claims; the header's fields are changed as given.
func (k key) token(claims map[string]any, header ...map[string]any) string {
	return signed(k.algorithm, k.private, claims, append([]map[string]any{{"kid": k.id}}, header...)...)
}

// signed makes a token with any key. A nil in the header removes a field.
func signed(algorithm string, key any, claims map[string]any, header ...map[string]any) string {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), jwt.MapClaims(claims))
	token.Header = with(token.Header, header...)
	return must(token.SignedString(key))
}

// unsigned makes a token of a header and a payload as they are.
func unsigned(header, payload, signature string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode([]byte(signature))
}

// with copies fields and changes them; nil removes one.
func with(fields map[string]any, changes ...map[string]any) map[string]any {
	fields = maps.Clone(fields)
	for _, change := range changes {
		for name, value := range change {
			if value == nil {
				delete(fields, name)
			} else {
				fields[name] = value
			}
		}
	}
	return fields
}

// alice are the claims of a good token.
func alice(issuer string) map[string]any {
	return map[string]any{
		"iss": issuer,
		"aud": "parley",
		"sub": "0b5e",
		"iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(),

		"preferred_username": "Alice",
	}
}

// open makes an Authenticator that is closed with the test.
func open(t testing.TB, cfg auth.Config) *auth.Authenticator {
	t.Helper()
	if cfg.Tokens == nil {
		cfg.Tokens = newTokenStore()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a, err := auth.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(a.Close)
	return a
}

func wantCaller(t testing.TB, a *auth.Authenticator, token string, want domain.Caller) {
	t.Helper()
	got, err := a.Authenticate(context.Background(), token)
	if err != nil {
		t.Fatalf("Authenticate: %v", err)
	}
	if got != want {
		t.Fatalf("Authenticate = %+v, want %+v", got, want)
	}
}

// wantFailure wants an error of a kind, with exactly these words for the client.
func wantFailure(t testing.TB, a *auth.Authenticator, token string, kind error, message string) {
	t.Helper()
	got, err := a.Authenticate(context.Background(), token)
	if err == nil {
		t.Fatalf("Authenticate = %+v, want %q", got, message)
	}
	if got != (domain.Caller{}) {
		t.Errorf("Authenticate gave %+v beside an error", got)
	}
	if dot := strings.LastIndexByte(token, '.'); len(token)-dot > 20 && strings.Contains(err.Error(), token[dot:]) {
		t.Errorf("the error tells the token: %v", err)
	}
	wantError(t, err, kind, message)
}

func wantError(t testing.TB, err, kind error, message string) {
	t.Helper()
	var said *domain.Error
	if !errors.As(err, &said) {
		t.Fatalf("error has no words for the client: %v", err)
	}
	if !errors.Is(err, kind) || said.Message != message {
		t.Fatalf("error is %v %q (%v), want %v %q", said.Err, said.Message, err, kind, message)
	}
}

func wantRefused(t testing.TB, a *auth.Authenticator, token, message string) {
	t.Helper()
	wantFailure(t, a, token, domain.ErrUnauthorized, message)
}

func wantUnavailable(t testing.TB, a *auth.Authenticator, token string) {
	t.Helper()
	wantFailure(t, a, token, domain.ErrUnavailable, "the identity provider cannot be reached")
}
