package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"parley/internal/jsonscan"
	"parley/storage/datasets/ingest/source"
)

// maxDepth is how deep JSON values may be nested in a row.
const maxDepth = 64

var (
	errEnd    = errors.New("the file ends")
	errTooBig = errors.New("the row is longer than its limit")
)

// jsonError is a rule of JSON that the text breaks.
type jsonError struct{ reason string }

func (e *jsonError) Error() string { return e.reason }

// jsonScanner reads JSON, strictly by RFC 8259.
type jsonScanner struct {
	in  io.Reader
	buf []byte
	pos int
	// start is where the row starts that inRow says is being read. It stays in
	// buf as a whole; offsets from start are valid until its end.
	start int
	inRow bool
	// line counts the line ends before pos.
	line int64
	// err is why nothing more can be read.
	err error
}

// fill reads more, if there is more. It moves the row to the start of buf.
func (s *jsonScanner) fill() bool {
	if !s.inRow {
		s.start = s.pos
	}
	if s.err == nil && len(s.buf)-s.start >= source.MaxValue {
		s.err = errTooBig
	}
	if s.err != nil {
		return false
	}
	s.buf = s.buf[:copy(s.buf, s.buf[s.start:])]
	s.pos -= s.start
	s.start = 0
	if len(s.buf) == cap(s.buf) {
		s.buf = append(make([]byte, 0, max(1<<20, 2*cap(s.buf))), s.buf...)
	}
	n, err := io.ReadFull(s.in, s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		s.err = errEnd
	case err != nil:
		s.err = fmt.Errorf("read source: %w", err)
	}
	return n > 0
}

// more reports whether there is a byte at pos.
func (s *jsonScanner) more() bool { return s.pos < len(s.buf) || s.fill() }

// ahead returns the next n bytes, fewer only at the end of the file.
func (s *jsonScanner) ahead(n int) []byte {
	for len(s.buf)-s.pos < n && s.fill() {
	}
	return s.buf[s.pos:min(len(s.buf), s.pos+n)]
}

// peek skips blanks and returns the byte that follows.
func (s *jsonScanner) peek() (byte, error) {
	for s.more() {
		switch c := s.buf[s.pos]; c {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		default:
			return c, nil
		}
		s.pos++
	}
	return 0, s.err
}

func (s *jsonScanner) unexpected(wanted string) error {
	return &jsonError{fmt.Sprintf("%s is expected before %s", wanted, quote(source.Excerpt(string(source.TrimPartialRune(s.ahead(20))))))}
}

// members reads an object or a list up to the byte that closes it. Member reads
// one of its members, which starts with c.
func (s *jsonScanner) members(closing byte, member func(c byte) error) error {
	s.pos++
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == closing {
			s.pos++
			return nil
		}
		if !first {
			if c != ',' {
				return s.unexpected("a comma or " + string(closing))
			}
			s.pos++
			if c, err = s.peek(); err != nil {
				return err
			}
		}
		if err := member(c); err != nil {
			return err
		}
	}
}

// object reads an object. Member reads the value of a key.
func (s *jsonScanner) object(member func(key []byte) error) error {
	return s.members('}', func(c byte) error {
		if c != '"' {
			return s.unexpected("a key in quotes")
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		offset := s.pos - s.start - 1 - len(key)
		if c, err = s.peek(); err != nil {
			return err
		}
		if c != ':' {
			return s.unexpected("a colon")
		}
		s.pos++
		return member(s.buf[s.start+offset:][:len(key)])
	})
}

// value reads any value.
func (s *jsonScanner) value(depth int) (columnKinds, error) {
	if depth > maxDepth {
		return columnKinds{}, &jsonError{fmt.Sprintf("values are nested more than %d deep", maxDepth)}
	}
	c, err := s.peek()
	if err != nil {
		return columnKinds{}, err
	}
	switch {
	case c == '{':
		err := s.object(func([]byte) error {
			_, err := s.value(depth + 1)
			return err
		})
		return columnKinds{values: kindNested.set()}, err
	case c == '[':
		return s.list(depth)
	case c == '"':
		raw, err := s.text()
		return columnKinds{values: stringKind(raw).set()}, err
	case c == '-' || isDigit(c):
		return s.number()
	}
	switch c {
	case 't':
		return s.word("true", kindBool.set())
	case 'f':
		return s.word("false", kindBool.set())
	case 'n':
		return s.word("null", 0)
	}
	return columnKinds{}, s.unexpected("a value")
}

func (s *jsonScanner) word(word string, values kindSet) (columnKinds, error) {
	got := s.ahead(len(word))
	switch {
	case string(got) == word:
		s.pos += len(word)
		return columnKinds{values: values}, nil
	case len(got) < len(word) && strings.HasPrefix(word, string(got)):
		return columnKinds{}, s.err
	}
	return columnKinds{}, s.unexpected("a value")
}

func (s *jsonScanner) list(depth int) (columnKinds, error) {
	list := columnKinds{values: kindList.set()}
	err := s.members(']', func(byte) error {
		element, err := s.value(depth + 1)
		if element.values.meets(nestedKinds) {
			list.values = kindNested.set()
		} else {
			list.elements |= element.values.plain()
		}
		return err
	})
	return list, err
}

// number reads a number by JSON's grammar, which allows less than ours.
func (s *jsonScanner) number() (columnKinds, error) {
	start := s.pos - s.start
	s.skip("-")
	whole := s.pos - s.start
	ok := s.digits() && (s.buf[s.start+whole] != '0' || s.pos-s.start == whole+1)
	if ok && s.skip(".") {
		ok = s.digits()
	}
	if ok && s.skip("eE") {
		s.skip("+-")
		ok = s.digits()
	}
	if !s.more() {
		return columnKinds{}, s.err
	}
	if !ok {
		s.pos = s.start + start
		return columnKinds{}, s.unexpected("a number")
	}
	return columnKinds{values: classifyNumber(s.buf[s.start+start : s.pos]).set()}, nil
}

// skip skips one of some bytes.
func (s *jsonScanner) skip(any string) bool {
	if !s.more() || strings.IndexByte(any, s.buf[s.pos]) < 0 {
		return false
	}
	s.pos++
	return true
}

// digits skips digits, of which there must be one.
func (s *jsonScanner) digits() bool {
	any := false
	for s.more() && isDigit(s.buf[s.pos]) {
		s.pos++
		any = true
	}
	return any
}

// text reads a string and returns the bytes between its quotes.
func (s *jsonScanner) text() ([]byte, error) {
	s.pos++
	start := s.pos - s.start
	for s.more() {
		rest := s.buf[s.pos : len(s.buf)-1]
		plain := 0
		for plain < len(rest) && rest[plain] != '"' && rest[plain] != '\\' && rest[plain] >= 0x20 {
			plain++
		}
		s.pos += plain
		switch c := s.buf[s.pos]; {
		case c == '"':
			s.pos++
			return s.buf[s.start+start : s.pos-1], nil
		case c < 0x20:
			return nil, &jsonError{"a string holds a line end or another control character that is not escaped"}
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		default:
			s.pos++
		}
	}
	return nil, s.err
}

// escape reads an escape. Surrogates are only valid in pairs.
func (s *jsonScanner) escape() error {
	b := s.ahead(12)
	size := 2
	ok := len(b) > 1 && strings.IndexByte(`"\/bfnrt`, b[1]) >= 0
	if len(b) > 1 && b[1] == 'u' {
		size = 6
		var r rune
		if r, ok = unicodeEscape(b); utf16.IsSurrogate(r) {
			size = 12
			low, _ := unicodeEscape(b[6:])
			ok = utf16.DecodeRune(r, low) != '\uFFFD'
		}
	}
	switch {
	case !ok && len(b) < min(size, 6):
		return s.err
	case !ok:
		return &jsonError{fmt.Sprintf("a string holds %s, which is no escape in JSON", quote(source.Excerpt(string(source.TrimPartialRune(b[:min(len(b), 6)])))))}
	}
	s.pos += size
	return nil
}

// unicodeEscape reads \uXXXX.
func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(n), err == nil
}

// stringKind detects dates, times, and words for true and false in strings. Numbers in strings are text: who
// wrote JSON could have written numbers.
func stringKind(raw []byte) kind {
	if len(raw) < 5 || len(raw) > 40 || !isDigit(raw[0]) || !isDigit(raw[len(raw)-1]) && raw[len(raw)-1] != 'Z' {
		k, _ := stringWord(raw)
		return k
	}
	switch k := classify(raw); k {
	case kindDate, kindTime, kindTimestamp, kindInstant:
		return k
	}
	return kindText
}

// stringWord detects words for true and false in strings. The longest is sí with an escape.
func stringWord(raw []byte) (kind, form) {
	if raw = bytes.Trim(raw, " "); len(raw) > len(`s\u00ed`) || len(raw) == 0 {
		return kindText, 0
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = jsonscan.Unquote([]byte(`"` + string(raw) + `"`))
	}
	if k, f := classifyWord(raw); k == kindWord {
		return k, f
	}
	return kindText, 0
}
