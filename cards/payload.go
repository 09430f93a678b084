package cards

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/gowebpki/jcs"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Form is what of a card is signed. Signers differ in what they leave out before they make
// the rest canonical by RFC 8785; all leave out the signatures.
type Form string

const (
	// FormStandard is that of A2A 1.0, section 8.4.1: fields with their default value are
	// left out, unless they are required or optional by the protocol's schema.
	FormStandard Form = "standard"
	// FormSDK is what the SDKs for Python and JavaScript sign: also without strings, lists
	// and objects that are empty, or become empty by this. Parley's cards have none of them.
	// What this form leaves out can have a meaning: an empty requirement is access without
	// authentication. A card with such a field is neither signed nor verified in this form.
	FormSDK Form = "sdk"
	// FormDocument is a card as it is, for cards before 1.0.
	FormDocument Form = "document"
)

// payload is what is signed of a document, in one form.
type payload struct {
	form Form
	text []byte
	// unprotected has the fields of the card with a meaning that is not in the text.
	unprotected []string
}

// payloads returns what may be signed of a card, in some forms, without repetitions.
func payloads(card map[string]any, forms ...Form) ([]payload, error) {
	var all []payload
	for _, form := range forms {
		signed, unprotected := signedPart(form, card)
		text, err := json.Marshal(signed)
		if err != nil {
			return nil, fmt.Errorf("write what is signed of a card: %w", err)
		}
		if text, err = jcs.Transform(text); err != nil {
			return nil, fmt.Errorf("write what is signed of a card: %w", err)
		}
		if !slices.ContainsFunc(all, func(p payload) bool { return bytes.Equal(p.text, text) }) {
			all = append(all, payload{form, text, unprotected})
		}
	}
	return all, nil
}

// signedPart returns what is signed of a card, and the fields that this does not protect.
func signedPart(form Form, card map[string]any) (signed map[string]any, unprotected []string) {
	schema := (&a2apb.AgentCard{}).ProtoReflect().Descriptor()
	switch form {
	case FormStandard:
		return reduce(schema, card), nil
	case FormSDK:
		card = reduce(schema, card)
		signed = denseMembers(card)
		return signed, differences(card, reduce(schema, signed))
	case FormDocument:
	}
	return card, nil
}

// differences returns the names of the members of a that b does not have, or has with
// another value.
func differences(a, b map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if other, ok := b[name]; !ok || !reflect.DeepEqual(a[name], other) {
			names = append(names, name)
		}
	}
	return names
}

// readCard reads a card, without its signatures. One that has no canonical form is refused:
// others may read it differently.
func readCard(document []byte) (map[string]any, error) {
	text, err := jcs.Transform(document)
	if err != nil {
		if name, twice := strings.CutPrefix(err.Error(), "Duplicate key: "); twice {
			err = fmt.Errorf("%s is twice in an object", name)
		}
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var card map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // numbers stay as they are
	if decoder.Decode(&card) != nil || card == nil {
		return nil, errors.New("the document is not a JSON object")
	}
	delete(card, "signatures")
	return card, nil
}

// reduce leaves fields with default values out of proto3-JSON, unless they are required or
// have presence. Fields that the schema does not know stay: the SDKs leave them out, but a
// reader may believe them.
func reduce(schema protoreflect.MessageDescriptor, message map[string]any) map[string]any {
	members := map[string]any{}
	for name, value := range message {
		field := schema.Fields().ByJSONName(name)
		switch {
		case field == nil:
			members[name] = value
		case value == nil: // the same as no field
		default:
			value = reduceField(field, value)
			if field.HasPresence() || required(field) || !isDefault(field, value) {
				members[name] = value
			}
		}
	}
	for i := range schema.Fields().Len() {
		field := schema.Fields().Get(i)
		if _, set := members[field.JSONName()]; !set && required(field) {
			members[field.JSONName()] = defaultOf(field)
		}
	}
	return members
}

func reduceField(field protoreflect.FieldDescriptor, value any) any {
	clean := func(schema protoreflect.MessageDescriptor, value any) any {
		message, ok := value.(map[string]any)
		if schema == nil || !ok || strings.HasPrefix(string(schema.FullName()), "google.protobuf.") {
			return value // a scalar, or JSON of any form
		}
		return reduce(schema, message)
	}
	switch value := value.(type) {
	case []any:
		if !field.IsList() {
			return value
		}
		cleaned := make([]any, len(value))
		for i, element := range value {
			cleaned[i] = clean(field.Message(), element)
		}
		return cleaned
	case map[string]any:
		if !field.IsMap() {
			return clean(field.Message(), value)
		}
		cleaned := make(map[string]any, len(value))
		for key, element := range value {
			cleaned[key] = clean(field.MapValue().Message(), element)
		}
		return cleaned
	}
	return value
}

func required(field protoreflect.FieldDescriptor) bool {
	behavior, _ := proto.GetExtension(field.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(behavior, annotations.FieldBehavior_REQUIRED)
}

// isDefault reports whether a field without presence has its default value. An empty value
// of another type is none: a reader may understand it in another way.
func isDefault(field protoreflect.FieldDescriptor, value any) bool {
	return reflect.DeepEqual(value, defaultOf(field))
}

func defaultOf(field protoreflect.FieldDescriptor) any {
	switch {
	case field.IsList():
		return []any{}
	case field.IsMap(), field.Message() != nil:
		return map[string]any{}
	}
	return field.Default().Interface()
}

func denseMembers(message map[string]any) map[string]any {
	members := map[string]any{}
	for name, member := range message {
		if member = dense(member); !isEmpty(member) {
			members[name] = member
		}
	}
	return members
}

// dense returns a value without strings, lists and objects that are empty.
func dense(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return denseMembers(value)
	case []any:
		elements := []any{}
		for _, element := range value {
			if element = dense(element); !isEmpty(element) {
				elements = append(elements, element)
			}
		}
		return elements
	}
	return value
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return value == nil
}
