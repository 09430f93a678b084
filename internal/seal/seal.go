// Package seal encrypts secrets that are kept in the database: AES-256-GCM, under keys that
// are derived from the server's.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

const (
	keySize = 32
	// idSize is how much of a key's id begins a sealed text, to tell which key it is for.
	idSize = 4
)

// ErrUnknownKey says that a text was sealed with a key that is not known.
var ErrUnknownKey = errors.New("sealed with a key that this server does not have")

// Box seals texts and opens them.
type Box struct{ keys []key }

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
}

// New makes a Box for a purpose: keys for one purpose do not open what is sealed for another.
// The first secret seals; all open, so that one can take the place of another. There must be
// one at least.
func New(purpose string, secrets ...[]byte) (*Box, error) {
	if len(secrets) == 0 {
		return nil, errors.New("seal: no key")
	}
	box := &Box{}
	for _, secret := range secrets {
		k, err := derive(purpose, secret)
		if err != nil {
			return nil, fmt.Errorf("seal: derive a key: %w", err)
		}
		box.keys = append(box.keys, k)
	}
	return box, nil
}

func derive(purpose string, secret []byte) (key, error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, "parley "+purpose, keySize+idSize)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(derived[:keySize])
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return key{id: [idSize]byte(derived[keySize:]), aead: aead}, err
}

// Seal encrypts a text. It opens only with the same context, which says what it belongs to.
func (b *Box) Seal(text, context []byte) []byte {
	k := b.keys[0]
	return k.aead.Seal(k.id[:], nil, text, context)
}

// Open returns what was sealed.
func (b *Box) Open(sealed, context []byte) ([]byte, error) {
	if len(sealed) < idSize {
		return nil, errors.New("seal: too short")
	}
	id, rest := [idSize]byte(sealed[:idSize]), sealed[idSize:]
	for _, k := range b.keys {
		if k.id != id {
			continue
		}
		text, err := k.aead.Open(nil, nil, rest, context)
		if err != nil {
			return nil, fmt.Errorf("open a sealed text: %w", err)
		}
		return text, nil
	}
	return nil, ErrUnknownKey
}
