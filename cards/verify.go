package cards

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// maxSignatures limits the signatures of a card that are read.
const maxSignatures = 100

// Signature is a signature of a card, as it says of itself.
type Signature struct {
	Algorithm string
	KeyID     string
	// KeysURL is where the card says that the key is. Whether that is to be believed is the
	// reader's to decide.
	KeysURL string

	protected, signature string
	err                  error // of a malformed one
}

// SignedCard is a card with its signatures, to be verified.
type SignedCard struct {
	Signatures []Signature
	payloads   []payload
}

// ReadSigned reads a card, of any version of the protocol, as it was received.
func ReadSigned(document []byte) (SignedCard, error) {
	fields, err := readCard(document)
	if err != nil {
		return SignedCard{}, err
	}
	forms := []Form{FormDocument}
	if _, current := fields["supportedInterfaces"]; current {
		forms = []Form{FormStandard, FormSDK, FormDocument}
	}
	all, err := payloads(fields, forms...)
	if err != nil {
		return SignedCard{}, err
	}
	var card struct {
		Signatures []struct {
			Protected string `json:"protected"`
			Signature string `json:"signature"`
		} `json:"signatures"`
	}
	if json.Unmarshal(document, &card) != nil {
		return SignedCard{}, errors.New("the signatures are not a list of objects with texts")
	}
	if len(card.Signatures) > maxSignatures {
		return SignedCard{}, fmt.Errorf("the card has %d signatures, more than %d", len(card.Signatures), maxSignatures)
	}
	signed := SignedCard{payloads: all}
	for _, s := range card.Signatures {
		signed.Signatures = append(signed.Signatures, readSignature(s.Protected, s.Signature))
	}
	return signed, nil
}

func readSignature(protected, signature string) (s Signature) {
	s.protected, s.signature = protected, signature
	text, err := base64.RawURLEncoding.DecodeString(protected)
	if err != nil {
		s.err = errors.New("the protected header is not base64url")
		return s
	}
	var fields struct {
		header
		Critical json.RawMessage `json:"crit"`
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		s.err = errors.New("the protected header is not a JSON object with texts")
		return s
	}
	s.Algorithm, s.KeyID, s.KeysURL = fields.Algorithm, fields.KeyID, fields.KeysURL
	if _, err = base64.RawURLEncoding.DecodeString(signature); err != nil {
		s.err = errors.New("the signature is not base64url")
	}
	// Extensions in `crit` must not be ignored, and none is known here.
	if fields.Critical != nil {
		s.err = errors.New("the signature uses an extension that is not known")
	}
	return s
}

// Verify checks a signature with the key of a set that it names, and returns the form that it
// was made of. It refuses a signature that leaves out a field with a meaning: anyone can add
// or change this field. It cannot know of a field that the signer left out and that was removed:
// a card of an SDK without requirements may have had one without scopes.
func (c SignedCard) Verify(s Signature, keys JWKSet) (Form, error) {
	if s.err != nil {
		return "", s.err
	}
	err := fmt.Errorf("there is no key %q among the %d keys", s.KeyID, len(keys.Keys))
	for _, key := range keys.Keys {
		if key.KeyID != s.KeyID || s.KeyID == "" {
			continue
		}
		for _, p := range c.payloads {
			if err = s.verify(key, p.text); err != nil {
				continue
			}
			if len(p.unprotected) > 0 {
				return "", fmt.Errorf("the signature does not protect empty values in: %s", strings.Join(p.unprotected, ", "))
			}
			return p.form, nil
		}
	}
	return "", err
}

// Check verifies that this signer has signed a document, of no version of the protocol.
func (s *Signer) Check(document []byte) error {
	signed, err := ReadSigned(document)
	if err != nil {
		return err
	}
	err = errors.New("it has no signature")
	for _, signature := range signed.Signatures {
		if _, err = signed.Verify(signature, s.Keys()); err == nil {
			return nil
		}
	}
	return err
}

// verify checks the signature of a text.
func (s Signature) verify(key jose.JSONWebKey, text []byte) error {
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != s.Algorithm {
		return errors.New("the key is not for this")
	}
	signed, err := jose.ParseDetached(s.protected+".."+s.signature, text, []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA})
	if err != nil {
		return fmt.Errorf("the algorithm %q does not fit the key, or is not known", s.Algorithm)
	}
	if signed.DetachedVerify(text, key.Key) != nil {
		return errors.New("the signature does not fit the card: it was made for another one, or with another key")
	}
	return nil
}
