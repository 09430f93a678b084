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
)

// The algorithms that cards are signed with, by their names in JOSE.
const (
	algorithmES256 = "ES256"
	algorithmEdDSA = "EdDSA"
)

// coordinate is how many bytes a number of P-256 has.
const coordinate = 32

// JWK is a public key as it is published (RFC 7517).
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y,omitempty"`
	Use       string `json:"use,omitempty"`
	Algorithm string `json:"alg,omitempty"`
	ID        string `json:"kid,omitempty"`
}

// JWKSet is the keys that are published.
type JWKSet struct {
	Keys []JWK `json:"keys"`
}

// Key signs cards.
type Key struct {
	private crypto.Signer
	public  JWK
}

// ID is the name of the key in signatures: its thumbprint (RFC 7638), the same wherever
// the key is.
func (k Key) ID() string { return k.public.ID }

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
	key := Key{public: JWK{Use: "sig"}}
	var thumbprint any
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		if private.Curve != elliptic.P256() {
			return Key{}, fmt.Errorf("the key is on %s; cards are signed with keys on P-256 or Ed25519", private.Curve.Params().Name)
		}
		point, err := private.PublicKey.Bytes()
		if err != nil {
			return Key{}, fmt.Errorf("read the public key: %w", err)
		}
		key.private = private
		key.public.KeyType, key.public.Curve, key.public.Algorithm = "EC", "P-256", algorithmES256
		key.public.X, key.public.Y = encode(point[1:1+coordinate]), encode(point[1+coordinate:])
		thumbprint = struct {
			Curve   string `json:"crv"`
			KeyType string `json:"kty"`
			X       string `json:"x"`
			Y       string `json:"y"`
		}{key.public.Curve, key.public.KeyType, key.public.X, key.public.Y}
	case ed25519.PrivateKey:
		key.private = private
		key.public.KeyType, key.public.Curve, key.public.Algorithm = "OKP", "Ed25519", algorithmEdDSA
		key.public.X = encode(private.Public().(ed25519.PublicKey))
		thumbprint = struct {
			Curve   string `json:"crv"`
			KeyType string `json:"kty"`
			X       string `json:"x"`
		}{key.public.Curve, key.public.KeyType, key.public.X}
	default:
		return Key{}, fmt.Errorf("the key is a %T; cards are signed with keys on P-256 or Ed25519", private)
	}
	text, err := json.Marshal(thumbprint)
	if err != nil {
		return Key{}, fmt.Errorf("write the thumbprint: %w", err)
	}
	sum := sha256.Sum256(text)
	key.public.ID = encode(sum[:])
	return key, nil
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

func (k JWK) verify(algorithm string, text, signature []byte) error {
	if k.Use != "" && k.Use != "sig" || k.Algorithm != "" && k.Algorithm != algorithm {
		return errors.New("the key is not for this")
	}
	x, err := base64.RawURLEncoding.DecodeString(k.X)
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	valid := false
	switch {
	case algorithm == algorithmES256 && k.KeyType == "EC" && k.Curve == "P-256":
		y, err := base64.RawURLEncoding.DecodeString(k.Y)
		if err != nil || len(x) != coordinate || len(y) != coordinate {
			return errors.New("the key is malformed")
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		hash := sha256.Sum256(text)
		valid = len(signature) == 2*coordinate &&
			ecdsa.Verify(public, hash[:], new(big.Int).SetBytes(signature[:coordinate]), new(big.Int).SetBytes(signature[coordinate:]))
	case algorithm == algorithmEdDSA && k.KeyType == "OKP" && k.Curve == "Ed25519":
		if len(x) != ed25519.PublicKeySize {
			return errors.New("the key is malformed")
		}
		valid = ed25519.Verify(x, text, signature)
	default:
		return fmt.Errorf("the algorithm %q does not fit the key, or is not known", algorithm)
	}
	if !valid {
		return errNotSigned
	}
	return nil
}

var errNotSigned = errors.New("the signature does not fit the card: it was made for another one, or with another key")

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
