package cards_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/cards"
)

// Every field is covered.
func TestChangedCards(t *testing.T) {
	t.Parallel()
	key, _ := newKeys(t)
	signer := newSigner(t, key)
	document := sign(t, signer, cards.NL2QL(base, version))
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(document, &whole); err != nil {
		t.Fatal(err)
	}
	write := func(fields map[string]json.RawMessage) []byte {
		text, err := json.MarshalIndent(fields, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := verified(t, write(whole), signer.Keys()); !slices.Equal(got, allForms) {
		t.Errorf("written in another order: %q", got)
	}
	for name := range whole {
		if name == "signatures" {
			continue
		}
		without := maps.Clone(whole)
		delete(without, name)
		if got := verified(t, write(without), signer.Keys()); len(got) != 0 {
			t.Errorf("without %s: verified %q", name, got)
		}
		changed := maps.Clone(whole)
		changed[name] = json.RawMessage(strings.NewReplacer("parley", "evil", "Parley", "Evil", "true", "false", "query", "delete", "text", "html", "bearer", "none", "nl2ql", "evil", "1.2", "1.3", "question", "order").Replace(string(whole[name])))
		if string(changed[name]) == string(whole[name]) {
			t.Fatalf("%s did not change", name)
		}
		if got := verified(t, write(changed), signer.Keys()); len(got) != 0 {
			t.Errorf("with another %s: verified %q", name, got)
		}
	}
	for _, name := range []string{"iconUrl", "url", "supported_interfaces"} {
		added := maps.Clone(whole)
		added[name] = json.RawMessage(`"https://evil.example/icon.png"`)
		if got := verified(t, write(added), signer.Keys()); len(got) != 0 {
			t.Errorf("with a new %s: verified %q", name, got)
		}
	}
}

// TestEmptyValues adds empty values, some of which the signed forms of the SDKs leave out.
// Those with a meaning are not accepted: an empty requirement is access without
// authentication.
func TestEmptyValues(t *testing.T) {
	t.Parallel()
	key, _ := newKeys(t)
	signer := newSigner(t, key)
	whole := string(sign(t, signer, cards.NL2QL(base, version)))
	legacy, err := signer.SignDocument(attested(), []byte(`{"protocolVersion":"0.3.0","name":"n","url":"u","security":[{"bearer":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	const requirements, skill, scheme = `"securityRequirements":[`, `"skills":[{`, `"securitySchemes":{`
	for name, test := range map[string]struct {
		document, old, added string
		want                 []cards.Form
	}{
		"a requirement":            {whole, requirements, `{},`, nil},
		"a requirement of no one":  {whole, requirements, `{"schemes":{}},`, nil},
		"a null requirement":       {whole, requirements, `null,`, nil},
		"one without scopes":       {whole, requirements, `{"schemes":{"other":{}}},`, nil},
		"a skill's requirement":    {whole, skill, `"securityRequirements":[{}],`, nil},
		"a skill":                  {whole, `"skills":[`, `{},`, nil},
		"an object of a skill":     {whole, skill, `"securityRequirements":{},`, nil},
		"a text of a skill":        {whole, skill, `"securityRequirements":"",`, nil},
		"a scheme":                 {whole, scheme, `"other":{"mtlsSecurityScheme":{}},`, nil},
		"an address":               {whole, `{`, `"iconUrl":"",`, nil},
		"a field of no schema":     {whole, `{`, `"later":[],`, nil},
		"another case":             {whole, `{`, `"SecurityRequirements":[],`, nil},
		"the name of the protocol": {whole, `{`, `"security_requirements":[],`, nil},
		// The same as no field, by the protocol.
		"no requirements of a skill": {whole, skill, `"securityRequirements":[],`, allForms},
		"null":                       {whole, `{`, `"iconUrl":null,`, allForms},
		"an older one":               {string(legacy), `"security":[`, ``, []cards.Form{cards.FormDocument}},
		"an older one's requirement": {string(legacy), `"security":[`, `{},`, nil},
	} {
		changed := strings.Replace(test.document, test.old, test.old+test.added, 1)
		if test.added != "" && changed == test.document {
			t.Fatalf("%s: nothing changed", name)
		}
		if got := verified(t, []byte(changed), signer.Keys()); !slices.Equal(got, test.want) {
			t.Errorf("%s: verified %q, want %q", name, got, test.want)
		}
	}
}

// TestRemovedRequirements signs cards with requirements that the SDKs leave out: none of the
// signatures holds without them.
func TestRemovedRequirements(t *testing.T) {
	t.Parallel()
	key, _ := newKeys(t)
	signer := newSigner(t, key)
	card := cards.NL2QL(base, version)
	card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": nil}}
	legacy, err := signer.SignDocument(attested(), []byte(`{"protocolVersion":"0.3.0","name":"n","url":"u","security":[{"bearer":[]}],"skills":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range map[string][]byte{"securityRequirements": sign(t, signer, card), "security": legacy} {
		if got := verified(t, document, signer.Keys()); len(got) != 1 {
			t.Errorf("with %s: verified %q", name, got)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(document, &fields); err != nil {
			t.Fatal(err)
		}
		for _, removed := range [][]string{{name}, {name, "skills"}} {
			without := maps.Clone(fields)
			for _, field := range removed {
				delete(without, field)
			}
			text, err := json.Marshal(without)
			if err != nil {
				t.Fatal(err)
			}
			if got := verified(t, text, signer.Keys()); len(got) != 0 {
				t.Errorf("without %v: verified %q", removed, got)
			}
		}
	}
}

// TestSDKCards verifies cards as the SDKs write and sign them.
func TestSDKCards(t *testing.T) {
	t.Parallel()
	key, _ := newKeys(t)
	signer := newSigner(t, key)
	const fields = `{"name":"n","version":"1","capabilities":{},"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
		"defaultInputModes":["text"],"skills":[{"id":"i","name":"n","tags":[],"examples":[]}],`
	for name, test := range map[string]struct{ rest, want string }{
		"without requirements":        {`"defaultOutputModes":[]}`, ""},
		"a requirement with scopes":   {`"securityRequirements":[{"schemes":{"b":{"list":["read"]}}}]}`, ""},
		"a requirement without":       {`"securityRequirements":[{"schemes":{"b":{}}}]}`, "securityRequirements"},
		"a scheme with nothing to it": {`"securitySchemes":{"b":{"mtlsSecurityScheme":{}}}}`, "securitySchemes"},
	} {
		document, err := signer.SignPayload([]byte(fields+test.rest), cards.FormSDK)
		if err != nil {
			t.Fatal(err)
		}
		card, err := cards.ReadSigned(document)
		if err != nil {
			t.Fatal(err)
		}
		form, err := card.Verify(card.Signatures[0], signer.Keys())
		if test.want == "" && (err != nil || form != cards.FormSDK) {
			t.Errorf("%s: %q, %v", name, form, err)
		}
		if test.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+test.want)) {
			t.Errorf("%s: %q, %v", name, form, err)
		}
	}
}

func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	es256, eddsa := newKeys(t)
	signer := newSigner(t, es256)
	document := sign(t, signer, cards.NL2QL(base, version))
	var card struct{ Signatures []a2a.AgentCardSignature }
	if err := json.Unmarshal(document, &card); err != nil {
		t.Fatal(err)
	}
	good := card.Signatures[0]
	protected := func(header string) string { return base64.RawURLEncoding.EncodeToString([]byte(header)) }
	named := `"kid":"` + es256.ID() + `"`
	for name, signature := range map[string]a2a.AgentCardSignature{
		"a header that is no base64":    {Protected: "!", Signature: good.Signature},
		"a header that is no JSON":      {Protected: protected("{"), Signature: good.Signature},
		"a header of numbers":           {Protected: protected(`{"alg":256}`), Signature: good.Signature},
		"a signature that is no base64": {Protected: good.Protected, Signature: "!"},
		"an empty signature":            {Protected: good.Protected},
		"half a signature":              {Protected: good.Protected, Signature: good.Signature[:43]},
		"no key":                        {Protected: protected(`{"alg":"ES256"}`), Signature: good.Signature},
		"another key":                   {Protected: protected(`{"alg":"ES256","kid":"x"}`), Signature: good.Signature},
		"no algorithm":                  {Protected: protected(`{"alg":"none",` + named + `}`), Signature: ""},
		"a shared secret":               {Protected: protected(`{"alg":"HS256",` + named + `}`), Signature: good.Signature},
		"the other algorithm":           {Protected: protected(`{"alg":"EdDSA",` + named + `}`), Signature: good.Signature},
		"an extension":                  {Protected: protected(`{"alg":"ES256","crit":["b64"],"b64":false,` + named + `}`), Signature: good.Signature},
		"another header":                {Protected: protected(`{"alg":"ES256",` + named + `}`), Signature: good.Signature},
	} {
		forged := cards.NL2QL(base, version)
		forged.Signatures = []a2a.AgentCardSignature{signature}
		if got := verified(t, cardJSON(t, forged), newSigner(t, es256, eddsa).Keys()); len(got) != 0 {
			t.Errorf("%s: verified %q", name, got)
		}
	}
	foreign := `{"kty":"OKP","crv":"Ed448","x":"AA"},{"kty":"new"},{"kty":"RSA","n":7},null,`
	for name, test := range map[string]struct {
		changes map[string]any
		want    int
	}{
		"as it is":       {nil, 1},
		"for encryption": {map[string]any{"use": "enc"}, 0},
		"another use":    {map[string]any{"alg": "ES384"}, 0},
		"another curve":  {map[string]any{"crv": "P-384"}, 0},
		"no point":       {map[string]any{"x": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}, 0},
		"half a point":   {map[string]any{"y": ""}, 0},
		"no base64":      {map[string]any{"x": "!"}, 0},
		"another type":   {map[string]any{"kty": "oct", "k": "AA"}, 0},
		"another's name": {map[string]any{"kid": "x"}, 0},
		"no name":        {map[string]any{"kid": ""}, 0},
		"another's point": {map[string]any{
			"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(newSigner(t, eddsa).Keys().Keys[0].Key.(ed25519.PublicKey)), "alg": "EdDSA",
		}, 0},
	} {
		text, err := json.Marshal(signer.Keys().Keys[0])
		if err != nil {
			t.Fatal(err)
		}
		var key map[string]any
		if err := json.Unmarshal(text, &key); err != nil {
			t.Fatal(err)
		}
		maps.Copy(key, test.changes)
		if text, err = json.Marshal(key); err != nil {
			t.Fatal(err)
		}
		var keys cards.JWKSet
		if err := json.Unmarshal([]byte(`{"keys":[`+foreign+string(text)+`]}`), &keys); err != nil {
			t.Fatal(err)
		}
		if got := verified(t, document, keys); len(got) != test.want {
			t.Errorf("a key %s: verified %q", name, got)
		}
	}
	if got := verified(t, document, cards.JWKSet{}); len(got) != 0 {
		t.Errorf("without keys: verified %q", got)
	}
	if _, err := cards.ReadSigned([]byte(`{"signatures":` + "[" + strings.Repeat("{},", 200) + "{}]}")); err == nil {
		t.Error("two hundred signatures were read")
	}
}

// A card that others may read differently is refused.
func TestUnreadableCards(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"an open object":          `1`,
		"two documents":           `1} {}`,
		"a trailing comma":        `[1,]}`,
		"a name twice":            `1,"b":2,"a":1}`,
		"a name twice, escaped":   `1,"\u0061":2}`,
		"a name twice, deep":      `[{"x":{"a":1,"a":1}}]}`,
		"no UTF-8":                "\"\xff\"}",
		"half a character":        `"\ud83d"}`,
		"the other half":          `"\ude00"}`,
		"two first halves":        `"\ud83d\ud83d"}`,
		"half before an escape":   `"\ud83d\n"}`,
		"half a name":             `{"\ud83d":1}}`,
		"a large number":          `1e400}`,
		"NaN":                     `NaN}`,
		"a leading zero":          `01}`,
		"nested without an end":   strings.Repeat("[", 1<<20),
		"nested too deep":         strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`,
		"objects nested too deep": strings.Repeat(`{"a":`, 1<<18) + "1" + strings.Repeat("}", 1<<18) + `}`,
	} {
		if _, err := cards.ReadSigned([]byte(`{"a":` + value)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	for name, document := range map[string]string{"nothing": ``, "a list": `[]`, "null": `null`} {
		if _, err := cards.ReadSigned([]byte(document)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// Whatever a card holds, reading it ends, and nothing but what was signed is verified.
func FuzzReadSigned(f *testing.F) {
	key, err := cards.DeriveKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		f.Fatal(err)
	}
	signer := newSigner(f, key)
	f.Add(sign(f, signer, cards.NL2QL(base, version)))
	f.Add([]byte(`{"supportedInterfaces":null,"skills":{"a":[1]},"capabilities":[],"signatures":[{"protected":"e30","signature":""}]}`))
	f.Add([]byte(`{"signatures":{}}`))
	own, err := cards.Payloads(sign(f, signer, cards.NL2QL(base, version)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		card, err := cards.ReadSigned(document)
		if err != nil {
			return
		}
		texts, err := cards.Payloads(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, signature := range card.Signatures {
			if form, err := card.Verify(signature, signer.Keys()); err == nil && texts[form] != own[form] {
				t.Errorf("verified as %s: %s", form, document)
			}
		}
	})
}
