package params

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"parley/internal/domain"
	"parley/internal/jsonscan"
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
	s := search{left: 8*len(text) + 1<<20}
	problem := s.inMessage(schema, text)
	if problem != nil {
		problem.Field = cmp.Or(domain.Truncate(strings.TrimPrefix(problem.Field, "."), maxPath), whole)
	}
	return problem
}

// search is a search for a problem. Each level of nesting reads its text again, so that left limits
// the bytes that are read: a client chooses the nesting, and what remains is not searched.
type search struct{ left int }

// enter reports whether the members or elements of a text may be read.
func (s *search) enter(text []byte) bool {
	s.left -= len(text)
	return s.left >= 0
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

// wrong is a problem of a value, whose path is added by those that it is in: values without a
// problem, of which there are many, need none.
func wrong(format string, args ...any) *Problem {
	return &Problem{Text: fmt.Sprintf(format, args...)}
}

// in adds the member that has a problem.
func (p *Problem) in(name string) *Problem {
	p.Field = "." + name[:min(len(name), maxPath+1)] + p.Field
	return p
}

// at adds the element that has a problem.
func (p *Problem) at(index int) *Problem {
	p.Field = "[" + strconv.Itoa(index) + "]" + p.Field
	return p
}

func (s *search) inMessage(schema protoreflect.MessageDescriptor, text []byte) *Problem {
	if text[0] != '{' {
		return wrong("must be an object")
	}
	if !s.enter(text) {
		return nil
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
		if seen[field.Number()] {
			return wrong("is there twice").in(field.JSONName())
		}
		seen[field.Number()] = true
		if string(value) == "null" {
			continue
		}
		if group := field.ContainingOneof(); group != nil && !group.IsSynthetic() {
			if chosen[group.Name()] {
				return wrong("must have only one of %s", membersOf(group))
			}
			chosen[group.Name()] = true
		}
		if problem := s.inField(field, value); problem != nil {
			return problem.in(field.JSONName())
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

func (s *search) inField(field protoreflect.FieldDescriptor, text []byte) *Problem {
	switch {
	case field.IsList():
		if text[0] != '[' {
			return wrong("must be a list")
		}
		if !s.enter(text) {
			return nil
		}
		i := 0
		for element := range jsonscan.Elements(text) {
			if problem := s.inValue(field, element); problem != nil {
				return problem.at(i)
			}
			i++
		}
		return nil
	case field.IsMap():
		if text[0] != '{' {
			return wrong("must be an object")
		}
		if !s.enter(text) {
			return nil
		}
		for key, value := range jsonscan.Members(text) {
			if problem := s.inValue(field.MapValue(), value); problem != nil {
				return problem.in(string(key))
			}
		}
		return s.anyJSON(text)
	}
	return s.inValue(field, text)
}

func (s *search) inValue(field protoreflect.FieldDescriptor, text []byte) *Problem {
	isText := text[0] == '"'
	switch field.Kind() {
	case protoreflect.MessageKind:
		return s.inObject(field.Message(), text)
	case protoreflect.StringKind:
		if !isText {
			return wrong("must be a text")
		}
		if bytes.ContainsRune(jsonscan.Unquote(text), utf8.RuneError) && !bytes.ContainsRune(text, utf8.RuneError) {
			return wrong("must be Unicode: it has half of a surrogate pair")
		}
	case protoreflect.BytesKind:
		if !isText || !isBase64(jsonscan.Unquote(text)) {
			return wrong("must be base64")
		}
	case protoreflect.BoolKind:
		if text[0] != 't' && text[0] != 'f' {
			return wrong("must be true or false")
		}
	case protoreflect.Int32Kind:
		number, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
		if err != nil || number != float64(int32(number)) {
			return wrong("must be a whole number of 32 bits")
		}
	case protoreflect.EnumKind:
		if !isText && (text[0] < '0' || text[0] > '9') {
			return wrong("must be a name, such as %s", field.Enum().Values().Get(1).Name())
		}
	}
	return nil
}

func (s *search) inObject(schema protoreflect.MessageDescriptor, text []byte) *Problem {
	switch schema.FullName() {
	case "google.protobuf.Timestamp":
		if _, err := time.Parse(time.RFC3339Nano, string(bytes.Trim(text, `"`))); err != nil || text[0] != '"' {
			return wrong("must be a time such as 2006-01-02T15:04:05Z")
		}
		return nil
	case "google.protobuf.Struct":
		if text[0] != '{' {
			return wrong("must be an object")
		}
		return s.anyJSON(text)
	case "google.protobuf.Value":
		return s.anyJSON(text)
	}
	return s.inMessage(schema, text)
}

// anyJSON finds a key that is twice in an object.
func (s *search) anyJSON(text []byte) *Problem {
	if text[0] != '{' && text[0] != '[' || !s.enter(text) {
		return nil
	}
	switch text[0] {
	case '{':
		seen := map[string]bool{}
		for key, value := range jsonscan.Members(text) {
			if seen[string(key)] {
				return wrong("is there twice").in(string(key))
			}
			seen[string(key)] = true
			if problem := s.anyJSON(value); problem != nil {
				return problem.in(string(key))
			}
		}
	case '[':
		i := 0
		for element := range jsonscan.Elements(text) {
			if problem := s.anyJSON(element); problem != nil {
				return problem.at(i)
			}
			i++
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
