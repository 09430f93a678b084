package llm

import (
	"html"
	"regexp"
	"slices"
	"strings"
)

// A model reads rows that others may have written, and may do as they say: put
// into its answer a link, or an image that is fetched without a click, whose
// address carries rows to somebody else. So an answer has no images, and keeps a
// link only to an address that stands by itself in the data, a few for each host: a
// model that could choose among many, or shorten one, could spell with them. All
// else that a reader's program could follow becomes plain text.
//
// Nothing is left as it is for being code: what is code is a question that
// Markdown's readers answer in different ways.

const (
	// maxAddress bounds an address that is understood, in bytes.
	maxAddress = 2 << 10
	// maxLinks is how many different addresses a text may have, and maxHostLinks
	// how many of one host.
	maxLinks     = 10
	maxHostLinks = 3
	// removed stands where an address was.
	removed = "‹address removed›"
	// firstKept is the private character that stands for the first address that is
	// kept, while a text is being read.
	firstKept = '\U000F0000'
)

var (
	// addressStarts is how an address begins. Backslashes that Markdown would drop do
	// not hide one.
	addressStarts = `[a-z][a-z0-9+.\-]*\\*:\\*/\\*/|\bwww\\*\.`
	addressInText = regexp.MustCompile(`(?i)(?:` + addressStarts + `)[^\s<>()\[\]|]*`)
	// linkInText matches what readers' programs make a link of in plain text: up to a
	// space, for they disagree about marks. Some need no scheme.
	linkInText = regexp.MustCompile(`(?i)(?:` + addressStarts + `|\b(?:mailto|xmpp)\\*:|` +
		`\\*/\\*/[\pL\pN][^\s/<]*[` + hostDots + `][\pL\pN]|(?:` + hostName + `|` + hostIPv4 + `|` + hostIPv6 + `)` + afterHost + `)[^\s<]*`)
	linkEnd = regexp.MustCompile(`\]\([\x{F0000}-\x{FFFFD}]`)
	scripts = regexp.MustCompile(`(?i)\b(javascript|vbscript)\s*:`)
	entity  = regexp.MustCompile(`&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z][a-zA-Z0-9]{1,31});`)
)

// The parts of an address without a scheme, for linkInText. It is told from prose by
// a path, a query, a fragment or a port behind the host.
const (
	plainDots = `.\x{2024}\x{FE52}`
	// sentenceDots end sentences in Chinese and Japanese, and separate labels of a host.
	sentenceDots = `\x{FF0E}\x{3002}\x{FF61}`
	hostDots     = plainDots + sentenceDots
	// hostLabel is a label of a host name; some have emoji.
	hostLabel = `[\pL\pM\pN\p{So}\x{1F3FB}-\x{1F3FF}_-]+`
	// hostName ends in a top-level domain: any letters, for new ones come up. Behind a
	// dot that ends sentences they are not Chinese or Japanese, which have no space
	// between sentences.
	hostName = `(?:` + hostLabel + `\\*[` + hostDots + `])*` + hostLabel + `\\*(?:` +
		`[` + hostDots + `]xn--[a-z0-9-]+|[` + plainDots + `][\pL\pM]{2,}|` +
		`[` + sentenceDots + `][^\PL\p{Han}\p{Hiragana}\p{Katakana}]{2,})`
	hostIPv4 = `\p{Nd}{1,3}(?:\\*[` + hostDots + `]\p{Nd}{1,3}){3}`
	hostIPv6 = `\[[0-9a-f]*:[0-9a-f]*:[^\s\[\]<]*\]`
)

// afterHost is a port, or the beginning of a path, a query or a fragment that is
// more than the end of a sentence.
var afterHost = `\\*[` + hostDots + `]?\\*(?::[0-9]|:?\\*[/?#](?:[^\s<]{4}|[^\s<]{0,3}[^\s<` + regexp.QuoteMeta(marks) + `]))`

// Plain gives a text that leads nowhere when it is shown as Markdown: without
// links, images, addresses and HTML.
func Plain(text string) string { return links{}.sanitize(text) }

// sanitize gives Markdown that leads nowhere else.
func (l links) sanitize(text string) string {
	safe, _ := l.sanitizeLinks(text)
	return safe
}

// sanitizeLinks is sanitize, and gives the addresses that are left.
func (l links) sanitizeLinks(text string) (string, []string) {
	// What is taken out may bring together what was apart: the result must be one
	// in which nothing is left to do.
	for range 8 {
		s := sanitizer{known: l, text: decodeEntities(text)}
		safe := s.pass()
		if safe == text {
			return text, s.kept
		}
		text = safe
	}
	// A space brings nothing together, and without these characters no link begins.
	return strings.NewReplacer("[", " ", "]", " ", "<", " ", "&", " ", "/", " ", `\`, " ").Replace(text), nil
}

// dropInvisible drops characters that turn or hide what is read, and private ones.
func dropInvisible(r rune) rune {
	switch {
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff, r == 0xad, r >= firstKept:
		return -1
	}
	return r
}

// decodeEntities writes characters for entities, so that none is left to become
// part of an address later, and drops invisible ones.
func decodeEntities(text string) string {
	return strings.Map(dropInvisible, clean(entity.ReplaceAllStringFunc(text, html.UnescapeString)))
}

// sanitizer goes through Markdown once.
type sanitizer struct {
	known links
	// kept are the addresses that may stay. In out, a character stands for each.
	kept []string
	text string
	at   int
	out  []byte
	// open are the brackets that may begin a link.
	open []bracket
}

type bracket struct {
	// at is where it is in out.
	at    int
	image bool
}

func (s *sanitizer) pass() string {
	s.run()
	safe := scripts.ReplaceAllString(s.replaceLinks(string(s.out)), "$1")
	for i, address := range s.kept {
		safe = strings.ReplaceAll(safe, string(firstKept+rune(i)), address)
	}
	return safe
}

// keep gives what stands for an address that may stay.
func (s *sanitizer) keep(address string) (string, bool) {
	i := slices.Index(s.kept, address)
	if i < 0 {
		if !s.allows(address) {
			return "", false
		}
		i = len(s.kept)
		s.kept = append(s.kept, address)
	}
	return string(firstKept + rune(i)), true
}

// allows reports whether one more address may stay.
func (s *sanitizer) allows(address string) bool {
	if !s.known.addresses[address] || len(s.kept) == maxLinks {
		return false
	}
	found := goodAddress.FindStringSubmatch(address)
	if found == nil {
		return false
	}
	same := 0
	for _, kept := range s.kept {
		if normalHost(goodAddress.FindStringSubmatch(kept)[1]) == normalHost(found[1]) {
			same++
		}
	}
	return same < maxHostLinks
}

// replaceLinks keeps or replaces the addresses that stand in text, the text of a
// link among it.
func (s *sanitizer) replaceLinks(text string) string {
	var out strings.Builder
	last := 0
	for _, end := range linkEnd.FindAllStringIndex(text, -1) {
		out.WriteString(linkInText.ReplaceAllStringFunc(text[last:end[0]], s.replaceLink) + text[end[0]:end[1]])
		last = end[1]
	}
	return out.String() + linkInText.ReplaceAllStringFunc(text[last:], s.replaceLink)
}

// Marks that may follow an address in a sentence. Readers' programs leave the first
// ones out of a link that they find.
const (
	outsideMarks = ".,:!?*_~)"
	marks        = outsideMarks + ";\"'`|]>"
)

// replaceLink keeps an address that stands in text, with the marks behind it, or
// replaces it.
func (s *sanitizer) replaceLink(found string) string {
	least := strings.TrimRight(found, marks)
	for end := len(found); end >= max(len(least), len(found)-maxTail); end-- {
		kept, ok := s.keep(found[:end])
		switch tail := found[end:]; {
		case !ok:
		case strings.Trim(tail, outsideMarks) == "" && len(tail) <= 3:
			return kept + tail
		default:
			return kept + " " + tail
		}
	}
	return removed + found[len(least):]
}

// maxTail is how many marks behind an address are told from it.
const maxTail = 8

func (s *sanitizer) run() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\\' && s.at+1 < len(s.text):
			s.copy(2)
		case c == '[':
			image := len(s.out) > 0 && s.out[len(s.out)-1] == '!'
			if image { // whatever it is, it is no image with a space
				s.out = append(s.out, ' ')
			}
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
		// No definition stays: an image may use it. Two colons are a cast in SQL.
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
	kept, allowed := "", false
	if end >= 0 && found && !opened.image {
		kept, allowed = s.keep(address)
	}
	switch {
	case end < 0 || !found:
		// No link, or one that we do not understand.
		s.out = append(s.out, `]\(`...)
		s.at += 2
	case allowed:
		s.out = append(s.out, "]("+kept+")"...)
		s.at = len(s.text) - len(after) + end
	default:
		start := opened.at
		label := append([]byte(nil), s.out[opened.at+1:]...)
		if opened.image {
			start -= len("! ")
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
	if end := strings.IndexByte(rest[:min(len(rest), maxAddress)], '>'); end >= 0 {
		if kept, ok := s.keep(rest[:end]); ok {
			s.out = append(s.out, "<"+kept+">"...)
			s.at += end + 2
			return
		}
	}
	if rest != "" && (rest[0] == '/' || rest[0] == '!' || rest[0] == '?' || isLetter(rest[0])) {
		s.out = append(s.out, "< "...)
		s.at++
		return
	}
	s.copy(1)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
