package cards

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Payloads returns what may be signed of a card, by form.
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

// VerifyText checks a signature, which may name no key.
func VerifyText(protected, text, signature string, keys JWKSet) error {
	return readSignature(protected, signature).verify(keys.Keys[0], []byte(text))
}

// SignPayload signs a document in one form, as others do, and returns it with its signature.
func (s *Signer) SignPayload(document []byte, form Form) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}
	card, err := readCard(document)
	if err != nil {
		return nil, err
	}
	all, err := payloads(card, form)
	if err != nil {
		return nil, err
	}
	protected := encode(fmt.Appendf(nil, `{"alg":%q,"kid":%q}`, s.keys[0].public.Algorithm, s.keys[0].ID()))
	signature, err := s.keys[0].sign(signingInput(protected, all[0].text))
	if err != nil {
		return nil, err
	}
	fields["signatures"] = []a2a.AgentCardSignature{{Protected: protected, Signature: signature}}
	return json.Marshal(fields)
}
