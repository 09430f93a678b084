package cards

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/baseurl"
	"parley/internal/lru"
)

// KeysPath is where the keys of signatures are, below the address of the page.
const KeysPath = "/.well-known/jwks.json"

// maxKeys limits the published keys.
const maxKeys = 8

// Signer signs cards. It is safe for concurrent use.
type Signer struct {
	keys []Key
	// signed has signatures that were made, by what was signed: cards are public, and read
	// far more often than they change.
	signed *lru.Cache[[sha256.Size]byte, []a2a.AgentCardSignature]
}

// maxSigned limits the signatures that are kept.
const maxSigned = 256

// NewSigner makes a Signer. The first key signs; the others are published with it, for
// cards that were signed with them, or will be.
func NewSigner(keys ...Key) (*Signer, error) {
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys for cards, not 1 to %d", len(keys), maxKeys)
	}
	seen := map[string]bool{}
	for _, key := range keys {
		if key.private == nil || seen[key.ID()] {
			return nil, errors.New("a key for cards is missing or there twice")
		}
		seen[key.ID()] = true
	}
	return &Signer{keys: keys, signed: lru.New[[sha256.Size]byte, []a2a.AgentCardSignature](maxSigned)}, nil
}

// Keys returns the public keys.
func (s *Signer) Keys() JWKSet {
	var set JWKSet
	for _, key := range s.keys {
		set.Keys = append(set.Keys, key.public)
	}
	return set
}

// Sign returns a card of A2A 1.0 with signatures in place of those that it has: one in each
// form that verifiers expect, see [Form], if these differ. The context has the public address, see package
// baseurl. Where a client can have chosen that, the card is not signed: a signed card that
// names somebody else's address would serve them.
func (s *Signer) Sign(ctx context.Context, card *a2a.AgentCard) (*a2a.AgentCard, error) {
	if card == nil {
		return nil, errors.New("sign agent card: there is no card")
	}
	signed := *card
	signed.Signatures = nil
	if !baseurl.Attested(ctx) {
		return &signed, nil
	}
	document, err := JSON(&signed)
	if err != nil {
		return nil, err
	}
	if signed.Signatures, err = s.signatures(ctx, document, FormSDK, FormStandard); err != nil {
		return nil, fmt.Errorf("sign agent card %q: %w", card.Name, err)
	}
	return &signed, nil
}

// SignDocument is Sign for a card of another version of the protocol, in JSON.
func (s *Signer) SignDocument(ctx context.Context, document []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, fmt.Errorf("sign a card: %w", err)
	}
	delete(fields, "signatures")
	if len(fields) == 0 {
		return nil, errors.New("sign a card: it is empty")
	}
	if baseurl.Attested(ctx) {
		signatures, err := s.signatures(ctx, document, FormDocument)
		if err != nil {
			return nil, fmt.Errorf("sign a card: %w", err)
		}
		if fields["signatures"], err = json.Marshal(signatures); err != nil {
			return nil, fmt.Errorf("sign a card: %w", err)
		}
	}
	return json.Marshal(fields)
}

// header is the protected header of a signature (A2A 1.0, section 8.4.2).
type header struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
	KeyID     string `json:"kid"`
	KeysURL   string `json:"jku,omitempty"`
}

// signatures returns the signatures of a document in some forms.
func (s *Signer) signatures(ctx context.Context, document []byte, forms ...Form) ([]a2a.AgentCardSignature, error) {
	key := s.keys[0]
	text, err := json.Marshal(header{
		Algorithm: key.public.Algorithm, Type: "JOSE", KeyID: key.ID(), KeysURL: siteURL(baseurl.From(ctx)) + KeysPath,
	})
	if err != nil {
		return nil, fmt.Errorf("write the header: %w", err)
	}
	protected := encode(text)
	// A header has no blanks: no two pairs give the same text.
	about := sha256.Sum256(fmt.Appendf(nil, "%v %s %s", forms, protected, document))
	signatures, ok := s.signed.Get(about)
	if ok {
		return slices.Clone(signatures), nil
	}
	card, err := readCard(document)
	if err != nil {
		return nil, err
	}
	all, err := payloads(card, forms...)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if len(p.unprotected) > 0 {
			continue // anyone could remove these fields
		}
		signature, err := key.sign(signingInput(protected, p.text))
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, a2a.AgentCardSignature{Protected: protected, Signature: signature})
	}
	s.signed.Put(about, signatures, 1)
	return slices.Clone(signatures), nil
}

// signingInput is what a signature is made of (RFC 7515, section 5.1).
func signingInput(protected string, payload []byte) []byte {
	return []byte(protected + "." + encode(payload))
}
