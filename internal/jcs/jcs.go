// Package jcs writes JSON in the one form that RFC 8785 (JSON Canonicalization Scheme)
// gives a document, so that it can be signed.
package jcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth limits how deep a document is nested.
const maxDepth = 200

// Canonical returns the canonical form of a document. One that is no I-JSON (RFC 7493) has
// none: text that is not Unicode, a name twice in an object, a number beyond a double.
func Canonical(document []byte) ([]byte, error) {
	if !utf8.Valid(document) || hasLoneSurrogate(document) {
		return nil, errors.New("the document has text that is not Unicode")
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	canonical, err := appendNext(nil, decoder, 0)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document")
	}
	return canonical, nil
}

func appendNext(dst []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, token), nil
	case json.Number:
		return appendNumber(dst, token)
	case string:
		return appendString(dst, token), nil
	case json.Delim:
		if token == '{' {
			return appendObject(dst, decoder, depth)
		}
		return appendArray(dst, decoder, depth)
	}
	return nil, fmt.Errorf("%v is no value", token)
}

func appendArray(dst []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for first := true; decoder.More(); first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendNext(dst, decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token() // the closing bracket
	return append(dst, ']'), err
}

type member struct {
	name  string
	order []uint16
	value []byte
}

func appendObject(dst []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	var members []member
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder takes nothing else
		value, err := appendNext(nil, decoder, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, utf16.Encode([]rune(name)), value})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(members, func(a, b member) int { return slices.Compare(a.order, b.order) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return nil, fmt.Errorf("%q is twice in an object", m.name)
			}
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, m.name), ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}'), nil
}

// appendNumber writes a number as ECMAScript does (RFC 8785, section 3.2.2.3): the
// shortest digits that give the same double.
func appendNumber(dst []byte, number json.Number) ([]byte, error) {
	value, err := number.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is beyond a double", number)
	}
	size := math.Abs(value)
	switch {
	case value == 0:
		return append(dst, '0'), nil // also for -0
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(dst, value, 'f', -1, 64), nil
	}
	// Go pads the exponent to two digits.
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(value, 'e', -1, 64), "e")
	return append(dst, digits+"e"+exponent[:1]+strings.TrimLeft(exponent[1:], "0")...), nil
}

// appendString writes a string with the escapes that are necessary (RFC 8785, section
// 3.2.2.2), and no others.
func appendString(dst []byte, text string) []byte {
	const short = "\b\t\n\f\r\"\\"
	dst = append(dst, '"')
	for i := range len(text) {
		c := text[i]
		switch at := strings.IndexByte(short, c); {
		case at >= 0:
			dst = append(dst, '\\', `btnfr"\`[at])
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// hasLoneSurrogate reports whether a document has an escape for half a character, which
// decoders replace. It may be no JSON.
func hasLoneSurrogate(document []byte) bool {
	for rest := document; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			return false
		}
		rest = rest[at:]
		first := escaped(rest)
		rest = rest[min(2, len(rest)):] // an escaped backslash starts nothing
		if !utf16.IsSurrogate(first) {
			continue
		}
		rest = rest[len("d800"):]
		if utf16.DecodeRune(first, escaped(rest)) == utf8.RuneError {
			return true
		}
		rest = rest[len(`\udc00`):]
	}
}

// escaped returns the code unit of an escape such as \ud800 at the start of a text; 0 for
// anything else.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}
