package source

import (
	"bytes"
	"strconv"
	"strings"
)

// pdfDict has the values of a dictionary of a PDF file that say what an object is, as written.
type pdfDict struct {
	kind, subtype, filter, parms, length, contents, count, first []byte
	// other says that it has other keys.
	other bool
}

func (d *pdfDict) set(key, value []byte) {
	switch string(key) {
	case "/Type":
		d.kind = value
	case "/Subtype":
		d.subtype = value
	case "/Filter":
		d.filter = value
	case "/DecodeParms":
		d.parms = value
	case "/Length":
		d.length = value
	case "/Contents":
		d.contents = value
	case "/N":
		d.count = value
	case "/First":
		d.first = value
	case "/DL":
	default:
		d.other = true
	}
}

// parsePDFDict reads a dictionary, and returns what follows. It stops at a keyword that no
// dictionary has.
func parsePDFDict(text []byte) (d *pdfDict, rest []byte, ok bool) {
	d, rest = &pdfDict{}, text
	var key, value []byte
	for depth := 0; ; {
		token, after := nextPDFToken(rest)
		if token == nil {
			return nil, nil, false
		}
		switch string(token) {
		case "endobj", "obj", "stream", "endstream":
			return nil, rest, false
		case "<<", "[":
			depth++
		case ">>", "]":
			depth--
		}
		rest = after
		ended := depth <= 0
		switch {
		case ended || depth == 1 && token[0] == '/' && (key == nil || value != nil):
			if value != nil {
				d.set(key, value)
			}
			if ended {
				return d, rest, true
			}
			key, value = token, nil
		case key == nil:
		case value == nil:
			value = token
		default:
			// The value goes from the start of its first token to the end of this one.
			value = value[:cap(value)-cap(after)]
		}
	}
}

// stream returns the data of a stream, which start in the line after its keyword, and what
// follows.
func (d *pdfDict) stream(line []byte) (data, rest []byte) {
	keyword := []byte("endstream")
	if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
		data = line[end:]
		if bytes.HasPrefix(data, []byte("\r\n")) {
			data = data[1:]
		}
		data = data[1:]
	}
	if length, err := strconv.Atoi(string(d.length)); err == nil && length >= 0 && length <= len(data) {
		if after, ok := bytes.CutPrefix(skipSpace(data[length:]), keyword); ok {
			return data[:length], after
		}
	}
	data, rest, _ = bytes.Cut(data, keyword)
	return data, rest
}

const (
	pdfSpace  = "\x00\t\n\f\r "
	pdfDelims = "()<>[]{}/%"
)

func skipSpace(text []byte) []byte {
	return bytes.TrimLeft(text, pdfSpace)
}

// nextPDFToken returns the next token, nil at the end, and what follows it. A string and a name
// are tokens with their delimiters.
func nextPDFToken(text []byte) (token, rest []byte) {
	text = skipSpace(text)
	for len(text) > 0 && text[0] == '%' {
		text = skipSpace(text[lengthUntil(text, "\r\n"):])
	}
	if len(text) == 0 {
		return nil, nil
	}
	end := 1
	switch text[0] {
	case '(':
		end = stringLength(text)
	case '<', '>':
		switch {
		case len(text) > 1 && text[1] == text[0]:
			end = 2
		case text[0] == '<':
			end = min(len(text), lengthUntil(text, ">")+1)
		}
	case '/':
		end += lengthUntil(text[1:], pdfSpace+pdfDelims)
	case ')', '[', ']', '{', '}':
	default:
		end = lengthUntil(text, pdfSpace+pdfDelims)
	}
	return text[:end], text[end:]
}

// lengthUntil returns the number of bytes before the first one of a set.
func lengthUntil(text []byte, set string) int {
	for i, b := range text {
		if strings.IndexByte(set, b) >= 0 {
			return i
		}
	}
	return len(text)
}

// stringLength returns the length of the string at the start, with its nested parentheses.
func stringLength(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
