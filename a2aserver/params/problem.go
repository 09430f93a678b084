package params

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"parley/internal/jsonscan"
	"parley/storage"
)

// maxPath limits the name of a wrong field, which may have keys of the client, in bytes.
const maxPath = 200

// Problem is what is wrong with params, for their author.
type Problem struct {
	// Field is the path of the wrong field, "params" for all of them.
	Field string
	// Text follows the name of the field.
	Text string
}

// whole is the field of a problem that is not one of a field.
const whole = "params"

// findProblem explains why params cannot be read as a message: protojson's errors name the types
// of the schema. The problem is nil if it is of another kind.
func findProblem(schema protoreflect.MessageDescriptor, text []byte) *Problem {
	if depth(text) > MaxDepth {
		return &Problem{whole, fmt.Sprintf("must not be nested more than %d levels deep", MaxDepth)}
	}
	return inMessage(schema, "", text)
}

// depth is the nesting of a JSON text.
func depth(text []byte) (deepest int) {
	level := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = jsonscan.StringEnd(text, i) - 1
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

func wrong(path, format string, args ...any) *Problem {
	if path == "" {
		path = whole
	}
	return &Problem{storage.Truncate(path, maxPath), fmt.Sprintf(format, args...)}
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func inMessage(schema protoreflect.MessageDescriptor, path string, text []byte) *Problem {
	if text[0] != '{' {
		return wrong(path, "must be an object")
	}
	seen, chosen := map[protoreflect.FieldNumber]bool{}, map[protoreflect.Name]bool{}
	for key, value := range jsonscan.Members(text) {
		field := schema.Fields().ByJSONName(string(key))
		if field == nil {
			field = schema.Fields().ByTextName(string(key))
		}
		if field == nil {
			continue
		}
		name := below(path, field.JSONName())
		if seen[field.Number()] {
			return wrong(name, "is there twice")
		}
		seen[field.Number()] = true
		if string(value) == "null" {
			continue
		}
		if group := field.ContainingOneof(); group != nil && !group.IsSynthetic() {
			if chosen[group.Name()] {
				return wrong(path, "must have only one of %s", membersOf(group))
			}
			chosen[group.Name()] = true
		}
		if problem := inField(field, name, value); problem != nil {
			return problem
		}
	}
	return nil
}

// membersOf lists the fields of which a message has one.
func membersOf(group protoreflect.OneofDescriptor) string {
	names := make([]string, group.Fields().Len())
	for i := range names {
		names[i] = group.Fields().Get(i).JSONName()
	}
	return strings.Join(names, ", ")
}

func inField(field protoreflect.FieldDescriptor, path string, text []byte) *Problem {
	switch {
	case field.IsList():
		var elements []json.RawMessage
		if text[0] != '[' || json.Unmarshal(text, &elements) != nil {
			return wrong(path, "must be a list")
		}
		for i, element := range elements {
			if problem := inValue(field, fmt.Sprintf("%s[%d]", path, i), element); problem != nil {
				return problem
			}
		}
		return nil
	case field.IsMap():
		if text[0] != '{' {
			return wrong(path, "must be an object")
		}
		for key, value := range jsonscan.Members(text) {
			if problem := inValue(field.MapValue(), below(path, string(key)), value); problem != nil {
				return problem
			}
		}
		return anyJSON(path, text)
	}
	return inValue(field, path, text)
}

func inValue(field protoreflect.FieldDescriptor, path string, text []byte) *Problem {
	isText := text[0] == '"'
	switch field.Kind() {
	case protoreflect.MessageKind:
		return inObject(field.Message(), path, text)
	case protoreflect.StringKind:
		if !isText {
			return wrong(path, "must be a text")
		}
		if bytes.ContainsRune(jsonscan.Unquote(text), utf8.RuneError) && !bytes.ContainsRune(text, utf8.RuneError) {
			return wrong(path, "must be Unicode: it has half of a surrogate pair")
		}
	case protoreflect.BytesKind:
		if !isText || !isBase64(jsonscan.Unquote(text)) {
			return wrong(path, "must be base64")
		}
	case protoreflect.BoolKind:
		if text[0] != 't' && text[0] != 'f' {
			return wrong(path, "must be true or false")
		}
	case protoreflect.Int32Kind:
		number, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
		if err != nil || number != float64(int32(number)) {
			return wrong(path, "must be a whole number of 32 bits")
		}
	case protoreflect.EnumKind:
		if !isText && (text[0] < '0' || text[0] > '9') {
			return wrong(path, "must be a name, such as %s", field.Enum().Values().Get(1).Name())
		}
	}
	return nil
}

func inObject(schema protoreflect.MessageDescriptor, path string, text []byte) *Problem {
	switch schema.FullName() {
	case "google.protobuf.Timestamp":
		if _, err := time.Parse(time.RFC3339Nano, string(bytes.Trim(text, `"`))); err != nil || text[0] != '"' {
			return wrong(path, "must be a time such as 2006-01-02T15:04:05Z")
		}
		return nil
	case "google.protobuf.Struct":
		if text[0] != '{' {
			return wrong(path, "must be an object")
		}
		return anyJSON(path, text)
	case "google.protobuf.Value":
		return anyJSON(path, text)
	}
	return inMessage(schema, path, text)
}

// anyJSON finds a key that is twice in an object.
func anyJSON(path string, text []byte) *Problem {
	switch text[0] {
	case '{':
		seen := map[string]bool{}
		for key, value := range jsonscan.Members(text) {
			name := below(path, string(key))
			if seen[string(key)] {
				return wrong(name, "is there twice")
			}
			seen[string(key)] = true
			if problem := anyJSON(name, value); problem != nil {
				return problem
			}
		}
	case '[':
		var elements []json.RawMessage
		if json.Unmarshal(text, &elements) != nil {
			return nil
		}
		for i, element := range elements {
			if problem := anyJSON(fmt.Sprintf("%s[%d]", path, i), element); problem != nil {
				return problem
			}
		}
	}
	return nil
}

// isBase64 reports whether a text is base64 as proto3-JSON has it: in either alphabet, with
// or without padding.
func isBase64(text []byte) bool {
	standard := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(string(text)), "=")
	_, err := base64.RawStdEncoding.DecodeString(standard)
	return err == nil
}
