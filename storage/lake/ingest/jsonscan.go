package ingest

import (
	"errors"
	"fmt"
	"strconv"
)

// maxDepth is how deep JSON values may be nested in a row.
const maxDepth = 64

// errPartial says that the bytes end before the value does.
var errPartial = errors.New("the text ends in the middle of a value")

// jsonError is a rule of JSON that the text breaks.
type jsonError struct{ reason string }

func (e *jsonError) Error() string { return e.reason }

// jsonScanner reads one row of JSON, strictly by RFC 8259.
type jsonScanner struct {
	buf []byte
	pos int
}

// jsonValue is a value as far as a column needs to know it.
type jsonValue struct {
	kind kind
	null bool
	// elements are the kinds of a list's scalars.
	elements kindSet
}

func (s *jsonScanner) skip() {
	for s.pos < len(s.buf) {
		switch s.buf[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *jsonScanner) peek() (byte, error) {
	s.skip()
	if s.pos == len(s.buf) {
		return 0, errPartial
	}
	return s.buf[s.pos], nil
}

func (s *jsonScanner) unexpected(wanted string) error {
	end := min(len(s.buf), s.pos+20)
	return &jsonError{fmt.Sprintf("%s is expected before %s", wanted, quote(excerpt(trimPartialRune(s.buf[s.pos:end]))))}
}

// object reads an object, giving each of its members to member.
func (s *jsonScanner) object(member func(key []byte) error) error {
	s.pos++
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == '}' && first {
			s.pos++
			return nil
		}
		if !first {
			if c == '}' {
				s.pos++
				return nil
			}
			if c != ',' {
				return s.unexpected("a comma or }")
			}
			s.pos++
			if c, err = s.peek(); err != nil {
				return err
			}
		}
		if c != '"' {
			return s.unexpected("a key in quotes")
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		if c != ':' {
			return s.unexpected("a colon")
		}
		s.pos++
		if err := member(key); err != nil {
			return err
		}
	}
}

// value reads any value.
func (s *jsonScanner) value(depth int) (jsonValue, error) {
	if depth > maxDepth {
		return jsonValue{}, &jsonError{fmt.Sprintf("values are nested more than %d deep", maxDepth)}
	}
	c, err := s.peek()
	if err != nil {
		return jsonValue{}, err
	}
	switch {
	case c == '{':
		err := s.object(func([]byte) error {
			_, err := s.value(depth + 1)
			return err
		})
		return jsonValue{kind: kindNested}, err
	case c == '[':
		return s.list(depth)
	case c == '"':
		raw, err := s.text()
		return jsonValue{kind: stringKind(raw)}, err
	case c == '-' || isDigit(c):
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if word[0] != c {
			continue
		}
		got := s.buf[s.pos:min(len(s.buf), s.pos+len(word))]
		if string(got) == word {
			s.pos += len(word)
			return jsonValue{kind: kindBool, null: c == 'n'}, nil
		}
		if len(got) < len(word) && string(got) == word[:len(got)] {
			return jsonValue{}, errPartial
		}
	}
	return jsonValue{}, s.unexpected("a value")
}

func (s *jsonScanner) list(depth int) (jsonValue, error) {
	v := jsonValue{kind: kindList}
	s.pos++
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return v, err
		}
		if c == ']' {
			s.pos++
			return v, nil
		}
		if !first {
			if c != ',' {
				return v, s.unexpected("a comma or ]")
			}
			s.pos++
			if c, err = s.peek(); err != nil {
				return v, err
			}
			if c == ']' {
				return v, s.unexpected("a value")
			}
		}
		element, err := s.value(depth + 1)
		if err != nil {
			return v, err
		}
		switch {
		case element.kind == kindList || element.kind == kindNested:
			v.kind = kindNested
		case !element.null:
			v.elements.add(element.kind)
		}
	}
}

// number reads a number by JSON's grammar, which allows less than ours.
func (s *jsonScanner) number() (jsonValue, error) {
	start, i := s.pos, s.pos
	if s.buf[i] == '-' {
		i++
	}
	digits := func() (n int) {
		for i < len(s.buf) && isDigit(s.buf[i]) {
			i++
			n++
		}
		return n
	}
	at := i
	ok := digits() > 0 && (s.buf[at] != '0' || i == at+1)
	if ok && i < len(s.buf) && s.buf[i] == '.' {
		i++
		ok = digits() > 0
	}
	if ok && i < len(s.buf) && s.buf[i]|0x20 == 'e' {
		i++
		if i < len(s.buf) && (s.buf[i] == '+' || s.buf[i] == '-') {
			i++
		}
		ok = digits() > 0
	}
	if i == len(s.buf) {
		return jsonValue{}, errPartial
	}
	if !ok {
		return jsonValue{}, s.unexpected("a number")
	}
	s.pos = i
	return jsonValue{kind: classifyNumber(s.buf[start:i])}, nil
}

// text reads a string and gives what stands between its quotes.
func (s *jsonScanner) text() ([]byte, error) {
	start := s.pos + 1
	for i := start; i < len(s.buf); i++ {
		switch c := s.buf[i]; {
		case c == '"':
			s.pos = i + 1
			return s.buf[start:i], nil
		case c < 0x20:
			s.pos = i
			return nil, &jsonError{"a string holds a line end or another control character that is not escaped"}
		case c == '\\':
			n, err := escape(s.buf[i:])
			if err != nil {
				return nil, err
			}
			i += n - 1
		}
	}
	return nil, errPartial
}

// escape gives the length of the escape that b begins with. Halves of characters
// (surrogates) are only valid in pairs.
func escape(b []byte) (int, error) {
	bad := &jsonError{fmt.Sprintf("a string holds %s, which is no escape in JSON", quote(excerpt(trimPartialRune(b[:min(len(b), 6)]))))}
	if len(b) < 2 {
		return 0, errPartial
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, bad
	}
	high, err := hex4(b, bad)
	if err != nil || high < 0xd800 || high > 0xdfff {
		return 6, err
	}
	if high > 0xdbff || len(b) > 6 && b[6] != '\\' || len(b) > 7 && b[7] != 'u' {
		return 0, bad
	}
	if len(b) < 12 {
		return 0, errPartial
	}
	low, err := hex4(b[6:], bad)
	if err == nil && (low < 0xdc00 || low > 0xdfff) {
		err = bad
	}
	return 12, err
}

func hex4(b []byte, bad error) (uint64, error) {
	if len(b) < 6 {
		return 0, errPartial
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	if err != nil || b[2] == '+' || b[2] == '-' {
		return 0, bad
	}
	return n, nil
}

// stringKind finds dates and times in strings. Numbers in strings are text: who
// wrote JSON could have written numbers.
func stringKind(raw []byte) kind {
	if len(raw) < 5 || len(raw) > 40 || !isDigit(raw[0]) || !isDigit(raw[len(raw)-1]) && raw[len(raw)-1] != 'Z' {
		return kindText
	}
	switch k := classify(raw); k {
	case kindDate, kindTime, kindTimestamp, kindInstant:
		return k
	}
	return kindText
}
