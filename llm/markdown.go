package llm

import (
	"html"
	"regexp"
	"strings"
)

// A model reads rows that others may have written, and may do as they say: put
// into its answer a link, or an image that is fetched without a click, whose
// address carries rows to somebody else. So an answer keeps a link or an image
// only to an address that the data holds whole, or a link to no more than a host
// that is there. All else that a reader's program could follow becomes plain text.
//
// Nothing is left as it is for being code: what is code is a question that
// Markdown's readers answer in different ways.

// maxAddress bounds an address that is understood, in bytes.
const maxAddress = 2 << 10

// removed stands where an address was.
const removed = "‹address removed›"

var (
	// addressInText matches an address the way readers find them in plain text.
	// Backslashes that Markdown would drop do not hide one.
	addressInText = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.\-]*:\\*/\\*/|\bwww\\*\.)[^\s<>()\[\]|]*`)
	scripts       = regexp.MustCompile(`(?i)\b(javascript|vbscript)\s*:`)
	entity        = regexp.MustCompile(`&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z][a-zA-Z0-9]{1,31});`)
)

// Plain gives a text that leads nowhere when it is shown as Markdown: without
// links, images, addresses and HTML.
func Plain(text string) string { return links{}.sanitize(text) }

// sanitize gives Markdown that leads nowhere else.
func (l links) sanitize(text string) string {
	// What is taken out may bring together what was apart: the result must be one
	// in which nothing is left to do.
	for range 8 {
		safe := l.pass(text)
		if safe == text {
			return text
		}
		text = safe
	}
	return strings.NewReplacer("[", "", "]", "", "<", "< ", "&", "", "://", "", "www.", "").Replace(text)
}

func (l links) pass(text string) string {
	s := sanitizer{known: l, text: decodeEntities(text)}
	s.run()
	safe := addressInText.ReplaceAllStringFunc(string(s.out), l.replaceAddress)
	return scripts.ReplaceAllString(safe, "$1")
}

// dropInvisible drops characters that turn or hide what is read.
func dropInvisible(r rune) rune {
	switch {
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff, r == 0xad:
		return -1
	}
	return r
}

// decodeEntities writes characters for entities, so that none is left to become
// part of an address later, and drops invisible ones.
func decodeEntities(text string) string {
	return strings.Map(dropInvisible, clean(entity.ReplaceAllStringFunc(text, html.UnescapeString)))
}

// replaceAddress keeps an address that stands in text, or replaces it.
func (l links) replaceAddress(found string) string {
	address := strings.TrimRight(found, ".,;:!?*_~\"'`|")
	if l.allows(address, false) {
		return found
	}
	return removed + found[len(address):]
}

// sanitizer goes through Markdown once.
type sanitizer struct {
	known links
	text  string
	at    int
	out   []byte
	// open are the brackets that may begin a link.
	open []bracket
}

type bracket struct {
	// at is where it is in out.
	at    int
	image bool
}

func (s *sanitizer) run() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\\' && s.at+1 < len(s.text):
			s.copy(2)
		case c == '[':
			image := len(s.out) > 0 && s.out[len(s.out)-1] == '!'
			s.open = append(s.open, bracket{len(s.out), image})
			s.copy(1)
		case c == ']':
			s.close()
		case c == '<':
			s.angle()
		default:
			s.copy(1)
		}
	}
}

// copy takes n bytes as they are.
func (s *sanitizer) copy(n int) {
	s.out = append(s.out, s.text[s.at:s.at+n]...)
	s.at += n
}

// close is at a closing bracket: it ends the text of a link, or begins the
// definition of one.
func (s *sanitizer) close() {
	var opened bracket
	found := len(s.open) > 0
	if found {
		opened = s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
	}
	rest := s.text[s.at+1:]
	switch {
	case strings.HasPrefix(rest, "("):
		s.inline(opened, found, rest[1:])
	case strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::"):
		// Any definition may be used by an image. Two colons are a cast in SQL.
		if address, _, ok := destination(rest[1:]); ok && s.known.allows(address, true) {
			s.copy(2)
			return
		}
		s.out = append(s.out, `]\:`...)
		s.at += 2
	default:
		s.copy(1)
	}
}

// inline is at the address of a link or an image.
func (s *sanitizer) inline(opened bracket, found bool, rest string) {
	address, after, ok := destination(rest)
	end := -1
	if ok {
		end = endOfLink(after)
	}
	switch {
	case end < 0 || !found:
		// No link, or one that we do not understand.
		s.out = append(s.out, `]\(`...)
		s.at += 2
	case s.known.allows(address, opened.image):
		s.out = append(s.out, "]("+address+")"...)
		s.at = len(s.text) - len(after) + end
	default:
		start := opened.at
		label := append([]byte(nil), s.out[opened.at+1:]...)
		if opened.image {
			start--
		}
		s.out = append(s.out[:start], label...)
		s.at = len(s.text) - len(after) + end
	}
}

// destination reads the address of a link: in angle brackets, or up to a space or
// an unmatched parenthesis. after is what follows it. One that is too long is not
// read, so that a text full of beginnings takes no time.
func destination(rest string) (address, after string, ok bool) {
	rest = strings.TrimLeft(rest, " \t\n")
	if strings.HasPrefix(rest, "<") {
		end := strings.IndexAny(rest[:min(len(rest), maxAddress)], ">\n")
		if end < 0 || rest[end] == '\n' {
			return "", "", false
		}
		return rest[1:end], rest[end+1:], true
	}
	depth := 0
	for i := 0; i < len(rest); i++ {
		if i > maxAddress {
			return "", "", false
		}
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest):
			i++
		case c == ' ' || c == '\t' || c == '\n':
			return rest[:i], rest[i:], true
		case c == '(':
			depth++
		case c == ')':
			if depth == 0 {
				return rest[:i], rest[i:], true
			}
			depth--
		}
	}
	return rest, "", true
}

// endOfLink gives where the closing parenthesis ends, a title before it passed
// over; -1 when there is none.
func endOfLink(after string) int {
	rest := strings.TrimLeft(after, " \t\n")
	if rest == "" {
		return -1
	}
	if closer, found := map[byte]byte{'"': '"', '\'': '\'', '(': ')'}[rest[0]]; found {
		i := 1
		for ; i < len(rest) && i < maxAddress && rest[i] != closer; i++ {
			if rest[i] == '\\' {
				i++
			}
		}
		if i >= len(rest) || rest[i] != closer {
			return -1
		}
		rest = strings.TrimLeft(rest[i+1:], " \t\n")
	}
	if !strings.HasPrefix(rest, ")") {
		return -1
	}
	return len(after) - len(rest) + 1
}

// angle is at an angle bracket. An address that may stay does. What could be HTML
// is not with a space behind the bracket, and reads as well where it is no Markdown:
// as a comparison in a plan.
func (s *sanitizer) angle() {
	rest := s.text[s.at+1:]
	if end := strings.IndexByte(rest, '>'); end >= 0 && s.known.allows(rest[:end], false) {
		s.copy(end + 2)
		return
	}
	if rest != "" && (rest[0] == '/' || rest[0] == '!' || rest[0] == '?' || isLetter(rest[0])) {
		s.out = append(s.out, "< "...)
		s.at++
		return
	}
	s.copy(1)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
