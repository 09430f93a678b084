package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

const (
	// maxKeys limits how many keys are tried for a token that names none.
	maxKeys = 100
	// minRSABits is the minimum of the JWA standard; maxRSABits is twice that of the library.
	minRSABits, maxRSABits = 2048, 8192
)

func init() { jose.MaxRSAModulusBits = maxRSABits }

// Algorithms by the type of the public key. None uses a key that can also sign: anybody can
// fetch the keys.
var (
	rsaAlgorithms    = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	curveAlgorithms  = map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
	publicAlgorithms = append(slices.Clone(rsaAlgorithms), "ES256", "ES384", "ES512", "EdDSA")
)

// keySet has the keys of an identity provider at one time. It does not change.
type keySet struct{ keys []publicKey }

// publicKey is a key with the algorithms that it may verify.
type publicKey struct {
	jose.JSONWebKey
	algorithms []string
}

// parseKeySet reads a JWK Set and skips keys that cannot verify tokens, since a provider may
// publish others. A set without a usable key is an error.
func parseKeySet(document []byte, log *slog.Logger) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("decode the key set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys, more than %d", len(set.Keys), maxKeys)
	}
	usable := &keySet{}
	for i, raw := range set.Keys {
		key, err := parseKey(raw)
		if err != nil {
			log.Debug("identity provider's key skipped", "index", i, "error", err)
			continue
		}
		usable.keys = append(usable.keys, key)
	}
	if len(usable.keys) == 0 {
		return nil, fmt.Errorf("none of the %d keys can verify a token", len(set.Keys))
	}
	return usable, nil
}

// parseKey reads a JWK that may verify tokens. Only the public half of a private key is
// read; a symmetric key is an error.
func parseKey(raw json.RawMessage) (key publicKey, err error) {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return key, fmt.Errorf("decode the key: %w", err)
	}
	// Keys are trusted because of their URL: certificates are not needed, and an invalid one
	// must not make the key unusable.
	for _, name := range []string{"d", "x5c", "x5t", "x5t#S256", "x5u"} {
		delete(fields, name)
	}
	if raw, err = json.Marshal(fields); err != nil {
		return key, err
	}
	if err := key.UnmarshalJSON(raw); err != nil {
		return key, err
	}
	if key.Use != "" && key.Use != "sig" {
		return key, fmt.Errorf("its use is %q", key.Use)
	}
	operations, list := fields["key_ops"].([]any)
	if fields["key_ops"] != nil && !list || len(operations) > 0 && !slices.Contains(operations, any("verify")) {
		return key, errors.New("its operations do not include verify")
	}
	key.algorithms = slices.DeleteFunc(algorithmsOf(key.Key), func(a string) bool { return key.Algorithm != "" && a != key.Algorithm })
	if len(key.algorithms) == 0 {
		return key, fmt.Errorf("no algorithm for a %T with alg %q", key.Key, key.Algorithm)
	}
	return key, nil
}

func algorithmsOf(key any) []string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() >= minRSABits {
			return slices.Clone(rsaAlgorithms)
		}
	case *ecdsa.PublicKey:
		if algorithm, ok := curveAlgorithms[key.Curve.Params().Name]; ok {
			return []string{algorithm}
		}
	case ed25519.PublicKey:
		return []string{"EdDSA"}
	}
	return nil
}

// keyfunc finds the keys that may have signed a token: errUnknownKey when there is none,
// errMisfit when its key is not for its algorithm.
func (s *keySet) keyfunc(token *jwt.Token) (any, error) {
	id, named := token.Header["kid"].(string)
	var fitting jwt.VerificationKeySet
	reason := errUnknownKey
	for _, key := range s.keys {
		switch {
		case named && key.KeyID != id:
		case slices.Contains(key.algorithms, token.Method.Alg()):
			fitting.Keys = append(fitting.Keys, key.Key)
		case named:
			reason = errMisfit
		}
	}
	if len(fitting.Keys) == 0 {
		return nil, fmt.Errorf("%w: %.64q", reason, id)
	}
	return fitting, nil
}
