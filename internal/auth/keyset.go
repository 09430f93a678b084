package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

const (
	// maxKeys bounds what a token that names no key can have tried.
	maxKeys = 100
	// minRSABits is the least that the JWA standard allows.
	minRSABits = 2048
)

// publicAlgorithms are those for an identity provider's tokens. All of them
// verify with a public key: a key that anybody can fetch must never be one that
// signs.
var publicAlgorithms = []string{
	"RS256", "RS384", "RS512",
	"PS256", "PS384", "PS512",
	"ES256", "ES384", "ES512",
	"EdDSA",
}

// keySet is an identity provider's keys at one time. It does not change.
type keySet struct {
	// byAlgorithm finds a token's key among those that fit its algorithm, and
	// gives all of them for a token that names none.
	byAlgorithm map[string]keyfunc.Keyfunc
	// ids are the names of all usable keys.
	ids  map[string]bool
	size int
}

// parseKeySet reads a JWK Set. A key that cannot be used is passed over, for a
// provider may publish others beside those that concern us; a set without a
// usable key is an error.
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
	fitting := map[string][]jwkset.JWK{}
	usable := &keySet{byAlgorithm: map[string]keyfunc.Keyfunc{}, ids: map[string]bool{}}
	for i, raw := range set.Keys {
		key, algorithms, err := parseKey(raw)
		if err != nil {
			log.Debug("identity provider's key passed over", "index", i, "error", err)
			continue
		}
		for _, algorithm := range algorithms {
			fitting[algorithm] = append(fitting[algorithm], key)
		}
		usable.ids[key.Marshal().KID] = true
		usable.size++
	}
	if usable.size == 0 {
		return nil, fmt.Errorf("none of the %d keys can verify a token", len(set.Keys))
	}
	for algorithm, keys := range fitting {
		finder, err := finderOf(keys)
		if err != nil {
			return nil, err
		}
		usable.byAlgorithm[algorithm] = finder
	}
	return usable, nil
}

// parseKey reads a JWK and tells the algorithms that it may verify. Private and
// symmetric keys are not read as such: the former give their public half, the
// latter an error.
func parseKey(raw json.RawMessage) (jwkset.JWK, []string, error) {
	var about jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &about); err != nil {
		return jwkset.JWK{}, nil, fmt.Errorf("decode the key: %w", err)
	}
	// Keys are trusted for where they were fetched: a certificate adds nothing,
	// and one that does not parse must not cost the key.
	about.X5C, about.X5T, about.X5TS256, about.X5U = nil, "", "", ""
	key, err := jwkset.NewJWKFromMarshal(about, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return jwkset.JWK{}, nil, err
	}
	if about.USE != "" && about.USE != jwkset.UseSig {
		return jwkset.JWK{}, nil, fmt.Errorf("its use is %q", about.USE)
	}
	if len(about.KEYOPS) > 0 && !slices.Contains(about.KEYOPS, jwkset.KeyOpsVerify) {
		return jwkset.JWK{}, nil, errors.New("its operations do not include verify")
	}
	algorithms := algorithmsOf(key.Key())
	if about.ALG != "" {
		algorithms = slices.DeleteFunc(algorithms, func(a string) bool { return a != about.ALG.String() })
	}
	if len(algorithms) == 0 {
		return jwkset.JWK{}, nil, fmt.Errorf("no algorithm for a %T with alg %q", key.Key(), about.ALG)
	}
	return key, algorithms, nil
}

// algorithmsOf gives those that a public key can be used with.
func algorithmsOf(key any) []string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() >= minRSABits {
			return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
		}
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return []string{"ES256"}
		case elliptic.P384():
			return []string{"ES384"}
		case elliptic.P521():
			return []string{"ES512"}
		}
	case ed25519.PublicKey:
		return []string{"EdDSA"}
	}
	return nil
}

func finderOf(keys []jwkset.JWK) (keyfunc.Keyfunc, error) {
	kept := jwkset.NewMemoryStorage()
	if err := kept.KeyReplaceAll(context.Background(), keys); err != nil {
		return nil, fmt.Errorf("keep the keys: %w", err)
	}
	finder, err := keyfunc.New(keyfunc.Options{Storage: kept})
	if err != nil {
		return nil, fmt.Errorf("keep the keys: %w", err)
	}
	return finder, nil
}

// keyfunc finds the keys that may have signed a token: errUnknownKey when there
// is none, errMisfit when its key is not for its algorithm.
func (s *keySet) keyfunc(ctx context.Context) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		if finder, ok := s.byAlgorithm[token.Method.Alg()]; ok {
			key, err := finder.KeyfuncCtx(ctx)(token)
			if !errors.Is(err, jwkset.ErrKeyNotFound) {
				return key, err
			}
		}
		id, named := token.Header[jwkset.HeaderKID].(string)
		if named && s.ids[id] {
			return nil, fmt.Errorf("%w: %.64q", errMisfit, id)
		}
		return nil, fmt.Errorf("%w: %.64q", errUnknownKey, id)
	}
}
