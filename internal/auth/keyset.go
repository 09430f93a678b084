package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
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
	// maxKeys limits how many keys are tried for a token that names none.
	maxKeys = 100
	// minRSABits is the minimum of the JWA standard.
	minRSABits = 2048
)

// Algorithms by the type of the public key. None uses a key that can also sign: anybody can
// fetch the keys.
var (
	rsaAlgorithms    = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	curveAlgorithms  = map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
	publicAlgorithms = append(slices.Clone(rsaAlgorithms), "ES256", "ES384", "ES512", "EdDSA")
)

// keySet has the keys of an identity provider at one time. It does not change.
type keySet struct {
	// byAlgorithm finds the key of a token among those for its algorithm; all of them for a
	// token that names none.
	byAlgorithm map[string]keyfunc.Keyfunc
	ids         map[string]bool
	size        int
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
	fitting := map[string][]jwkset.JWK{}
	usable := &keySet{byAlgorithm: map[string]keyfunc.Keyfunc{}, ids: map[string]bool{}}
	for i, raw := range set.Keys {
		key, algorithms, err := parseKey(raw)
		if err != nil {
			log.Debug("identity provider's key skipped", "index", i, "error", err)
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
		stored := jwkset.NewMemoryStorage()
		err := stored.KeyReplaceAll(context.Background(), keys)
		if err == nil {
			usable.byAlgorithm[algorithm], err = keyfunc.New(keyfunc.Options{Storage: stored})
		}
		if err != nil {
			return nil, fmt.Errorf("store the keys: %w", err)
		}
	}
	return usable, nil
}

// parseKey reads a JWK and returns the algorithms that it may verify. Only the public half
// of a private key is read; a symmetric key is an error.
func parseKey(raw json.RawMessage) (jwkset.JWK, []string, error) {
	var parsed jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return jwkset.JWK{}, nil, fmt.Errorf("decode the key: %w", err)
	}
	// Keys are trusted because of their URL: certificates are not needed, and an invalid one
	// must not make the key unusable.
	parsed.X5C, parsed.X5T, parsed.X5TS256, parsed.X5U = nil, "", "", ""
	key, err := jwkset.NewJWKFromMarshal(parsed, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return jwkset.JWK{}, nil, err
	}
	if parsed.USE != "" && parsed.USE != jwkset.UseSig {
		return jwkset.JWK{}, nil, fmt.Errorf("its use is %q", parsed.USE)
	}
	if len(parsed.KEYOPS) > 0 && !slices.Contains(parsed.KEYOPS, jwkset.KeyOpsVerify) {
		return jwkset.JWK{}, nil, errors.New("its operations do not include verify")
	}
	algorithms := slices.DeleteFunc(algorithmsOf(key.Key()), func(a string) bool { return parsed.ALG != "" && a != parsed.ALG.String() })
	if len(algorithms) == 0 {
		return jwkset.JWK{}, nil, fmt.Errorf("no algorithm for a %T with alg %q", key.Key(), parsed.ALG)
	}
	return key, algorithms, nil
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
