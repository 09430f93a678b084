package cards

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"

	"github.com/go-jose/go-jose/v4"
)

// coordinate is how many bytes a number of P-256 has.
const coordinate = 32

// JWKSet is the keys that are published (RFC 7517).
type JWKSet struct {
	Keys []jose.JSONWebKey `json:"keys"`
}

// UnmarshalJSON reads the keys and skips those that are malformed or of an unknown type.
func (s *JWKSet) UnmarshalJSON(text []byte) error {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err := json.Unmarshal(text, &set)
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil {
			s.Keys = append(s.Keys, key)
		}
	}
	return err
}

// Key signs cards.
type Key struct {
	private crypto.Signer
	public  jose.JSONWebKey
}

// ID is the name of the key in signatures: its thumbprint (RFC 7638), the same wherever
// the key is.
func (k Key) ID() string { return k.public.KeyID }

// ParseKey reads a private key in PEM, on P-256 (ES256) or Ed25519 (EdDSA).
func ParseKey(text []byte) (Key, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "EC PARAMETERS": // openssl writes the curve's name before the key
		case "EC PRIVATE KEY":
			return newKey(x509.ParseECPrivateKey(block.Bytes))
		case "PRIVATE KEY":
			return newKey(x509.ParsePKCS8PrivateKey(block.Bytes))
		default:
			return Key{}, fmt.Errorf("it holds a %s, not a private key without a password", block.Type)
		}
	}
	return Key{}, errors.New("it holds no private key in PEM")
}

// DeriveKey makes the key on P-256 that belongs to a secret of 32 random bytes or more.
func DeriveKey(secret []byte) (Key, error) {
	if len(secret) < sha256.Size {
		return Key{}, fmt.Errorf("the secret has %d bytes, fewer than %d", len(secret), sha256.Size)
	}
	// Of 2^32 hashes one is no key.
	for attempt := uint32(0); ; attempt++ {
		seed := append([]byte("parley card key ES256\n"), secret...)
		hash := sha256.Sum256(binary.BigEndian.AppendUint32(seed, attempt))
		if private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), hash[:]); err == nil {
			return newKey(private, nil)
		}
	}
}

// newKey makes a Key of what a parser gives.
func newKey(private any, err error) (Key, error) {
	if err != nil {
		return Key{}, err
	}
	var key Key
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		if private.Curve != elliptic.P256() {
			return Key{}, fmt.Errorf("the key is on %s; cards are signed with keys on P-256 or Ed25519", private.Curve.Params().Name)
		}
		key.private, key.public.Algorithm = private, string(jose.ES256)
	case ed25519.PrivateKey:
		key.private, key.public.Algorithm = private, string(jose.EdDSA)
	default:
		return Key{}, fmt.Errorf("the key is a %T; cards are signed with keys on P-256 or Ed25519", private)
	}
	key.public.Key, key.public.Use = key.private.Public(), "sig"
	thumbprint, err := key.public.Thumbprint(crypto.SHA256)
	key.public.KeyID = encode(thumbprint)
	return key, err
}

// sign signs a text. The signature is the same each time, and so is the ETag of a card on
// every replica.
func (k Key) sign(text []byte) (string, error) {
	if _, ok := k.private.(ed25519.PrivateKey); ok {
		signature, err := k.private.Sign(nil, text, crypto.Hash(0))
		return encode(signature), err
	}
	hash := sha256.Sum256(text)
	der, err := k.private.Sign(nil, hash[:], crypto.SHA256)
	if err != nil {
		return "", err
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		return "", fmt.Errorf("read the signature: %w", err)
	}
	var both [2 * coordinate]byte
	pair.R.FillBytes(both[:coordinate])
	pair.S.FillBytes(both[coordinate:])
	return encode(both[:]), nil
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
