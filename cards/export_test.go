package cards

import (
	"context"
	"encoding/json"
)

// Payloads gives what may be signed of a card, by form.
func Payloads(document []byte) (map[Form]string, error) {
	card, err := ReadSigned(document)
	texts := map[Form]string{}
	for _, p := range card.payloads {
		texts[p.form] = string(p.text)
	}
	return texts, err
}

// SignText signs a text with a key.
func (k Key) SignText(text string) (string, error) { return k.sign([]byte(text)) }

// VerifyText checks a signature of a text.
func (k JWK) VerifyText(algorithm, text string, signature []byte) error {
	return k.verify(algorithm, []byte(text), signature)
}

// SignPayload signs a document in one form, as others do, and returns it with its signature.
func (s *Signer) SignPayload(ctx context.Context, document []byte, form Form) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}
	signatures, err := s.signatures(ctx, document, form)
	if err != nil {
		return nil, err
	}
	fields["signatures"] = signatures
	return json.Marshal(fields)
}
