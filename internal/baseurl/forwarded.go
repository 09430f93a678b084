package baseurl

import (
	"errors"
	"strings"
)

// maxForwarded limits the elements of a Forwarded header: one for each proxy on the way.
const maxForwarded = 32

// forwarded is what one proxy says of a request, in lower-case names.
type forwarded map[string]string

var errForwarded = errors.New("malformed Forwarded header")

// parseForwarded reads a Forwarded header (RFC 7239, section 4), the first proxy first.
func parseForwarded(text string) ([]forwarded, error) {
	var elements []forwarded
	for rest := text; ; {
		element, after, err := parseElement(rest)
		if err != nil {
			return nil, err
		}
		if len(element) > 0 {
			elements = append(elements, element)
		}
		if len(elements) > maxForwarded {
			return nil, errForwarded
		}
		if after == "" {
			return elements, nil
		}
		rest = after[1:]
	}
}

// parseElement reads the pairs of one element and gives what follows, from the comma on.
func parseElement(text string) (element forwarded, after string, err error) {
	element = forwarded{}
	for {
		text = strings.TrimLeft(text, " \t")
		if text != "" && text[0] != ';' && text[0] != ',' {
			var name, value string
			if name, value, text, err = parsePair(text); err != nil {
				return nil, "", err
			}
			if _, twice := element[name]; twice {
				return nil, "", errForwarded
			}
			element[name] = value
			text = strings.TrimLeft(text, " \t")
		}
		switch {
		case text == "" || text[0] == ',':
			return element, text, nil
		case text[0] != ';':
			return nil, "", errForwarded
		}
		text = text[1:]
	}
}

// parsePair reads name=value, the value a token or a quoted string.
func parsePair(text string) (name, value, after string, err error) {
	name, after, ok := strings.Cut(text, "=")
	switch {
	case !ok || !isToken(name):
		return "", "", "", errForwarded
	case strings.HasPrefix(after, `"`):
		value, after, err = parseQuoted(after[1:])
	default:
		end := len(after)
		if i := strings.IndexAny(after, ";, \t"); i >= 0 {
			end = i
		}
		value, after = after[:end], after[end:]
		// A port or an IPv6 address must be quoted, and often is not.
		if strings.Trim(value, tokenCharacters+":[]") != "" || value == "" {
			err = errForwarded
		}
	}
	return strings.ToLower(name), value, after, err
}

// parseQuoted reads a quoted string after its first quote.
func parseQuoted(text string) (value, after string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c < ' ' && c != '\t' || c == 0x7f:
			return "", "", errForwarded
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errForwarded
}

// tokenCharacters are those of a token (RFC 9110, section 5.6.2).
const tokenCharacters = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func isToken(text string) bool { return text != "" && strings.Trim(text, tokenCharacters) == "" }
