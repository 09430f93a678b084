package llm

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A model reads rows that others may have written, and may follow instructions in them:
// write a link, or an image that is loaded without a click, whose address sends rows to
// somebody else. So an answer has no images, and links only to addresses that the data holds
// as they are, a few for each host: with a choice among many, or with shortened ones, a
// model could encode data. All other text that a program could take as a link becomes plain
// text, in code too, since programs disagree about what is code.

const (
	// maxAddress limits an address that is parsed, in bytes.
	maxAddress = 2 << 10
	// maxLinks limits the addresses of a text, and maxHostLinks those of one host.
	maxLinks     = 10
	maxHostLinks = 3
	// removed replaces an address.
	removed = "‹address removed›"
	// firstKept is the private character for the first kept address, during a pass.
	firstKept = '\U000F0000'
)

var (
	// addressStarts matches the start of an address, with backslashes that Markdown drops.
	addressStarts = `[a-z][a-z0-9+.\-]*\\*:\\*/\\*/|\bwww\\*\.`
	addressInText = regexp.MustCompile(`(?i)(?:` + addressStarts + `)[^\s<>()\[\]|]*`)
	linkEnd       = regexp.MustCompile(`\]\([\x{F0000}-\x{FFFFD}]`)
	// linkTitle matches the title that may follow the address of a link.
	linkTitle = regexp.MustCompile(`(?s)^(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^)\\])*\))`)
	// htmlStart matches what follows the angle bracket of a tag.
	htmlStart = regexp.MustCompile(`^[a-zA-Z/!?]`)
	scripts   = regexp.MustCompile(`(?i)\b(javascript|vbscript)\s*:`)
	entity    = regexp.MustCompile(`&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z][a-zA-Z0-9]{1,31});`)
)

// linkInText matches what programs turn into a link in plain text, some without a scheme. It
// ends at a space, since they disagree about punctuation. Compiling it takes a millisecond, too
// long for the start of every process.
var linkInText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:` + addressStarts + `|\b(?:mailto|xmpp)\\*:|` +
		`\\*/\\*/[\pL\pN][^\s/<]*[` + hostDots + `][\pL\pN]|(?:` + hostName + `|` + hostIPv4 + `|` + hostIPv6 + `)` + afterHost + `)[^\s<]*`)
})

// The parts of an address without a scheme, for linkInText. A path, a query, a fragment or
// a port after the host distinguishes it from prose.
const (
	plainDots = `.\x{2024}\x{FE52}`
	// sentenceDots end sentences in Chinese and Japanese, and separate labels of a host.
	sentenceDots = `\x{FF0E}\x{3002}\x{FF61}`
	hostDots     = plainDots + sentenceDots
	// hostLabel is a label of a host name; some have emoji.
	hostLabel = `[\pL\pM\pN\p{So}\x{1F3FB}-\x{1F3FF}_-]+`
	// hostName ends in a top-level domain, of any letters. After a dot that ends sentences
	// they are not Chinese or Japanese, which have no space between sentences.
	hostName = `(?:` + hostLabel + `\\*[` + hostDots + `])*` + hostLabel + `\\*(?:` +
		`[` + hostDots + `]xn--[a-z0-9-]+|[` + plainDots + `][\pL\pM]{2,}|` +
		`[` + sentenceDots + `][^\PL\p{Han}\p{Hiragana}\p{Katakana}]{2,})`
	hostIPv4 = `\p{Nd}{1,3}(?:\\*[` + hostDots + `]\p{Nd}{1,3}){3}`
	hostIPv6 = `\[[0-9a-f]*:[0-9a-f]*:[^\s\[\]<]*\]`
)

// afterHost is a port, or the beginning of a path, a query or a fragment that is more than
// the end of a sentence. A backslash, which can escape a mark, begins a path before a letter or digit.
var afterHost = `\\*[` + hostDots + `]?\\*(?::[0-9]|\\[\pL\pN][^\s<]|:?\\*[/\x{FF0F}\x{2044}\x{2215}?#](?:[^\s<]{4}|[^\s<]{0,3}[^\s<` + regexp.QuoteMeta(marks) + `]))`

// Plain removes links, images, addresses and HTML from Markdown.
func Plain(text string) string { return links{}.sanitize(text) }

// sanitize removes images, HTML, and links to other addresses from Markdown.
func (l links) sanitize(text string) string {
	safe, _ := l.sanitizeLinks(text)
	return safe
}

// sanitizeLinks is sanitize, and returns the addresses that it kept.
func (l links) sanitizeLinks(text string) (string, []string) {
	// Removing text can join parts to a new link: repeat until nothing changes.
	for range 8 {
		s := sanitizer{known: l, text: decodeEntities(text)}
		safe := s.pass()
		if safe == text {
			return text, s.kept
		}
		text = safe
	}
	// Without these characters there is no link, and spaces do not join parts.
	return strings.NewReplacer("[", " ", "]", " ", "<", " ", "&", " ", "/", " ", `\`, " ").Replace(text), nil
}

// dropInvisible drops characters that reorder or hide text, and private ones.
func dropInvisible(r rune) rune {
	switch {
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff, r == 0xad, r >= firstKept:
		return -1
	}
	return r
}

// emojiJoined matches emoji that invisible characters join to one.
var emojiJoined = regexp.MustCompile(`[\p{So}\x{1F3FB}-\x{1F3FF}]\x{FE0F}?(?:\x{200D}[\p{So}]\x{FE0F}?[\x{1F3FB}-\x{1F3FF}]?)+`)

// decodeEntities decodes entities, which could become part of an address later, and drops
// invisible characters, but for those that join emoji.
func decodeEntities(text string) string {
	text = clean(entity.ReplaceAllStringFunc(text, html.UnescapeString))
	var out strings.Builder
	last := 0
	for _, found := range emojiJoined.FindAllStringIndex(text, -1) {
		out.WriteString(strings.Map(dropInvisible, text[last:found[0]]) + text[found[0]:found[1]])
		last = found[1]
	}
	out.WriteString(strings.Map(dropInvisible, text[last:]))
	return out.String()
}

// sanitizer is one pass over Markdown.
type sanitizer struct {
	known links
	// kept has the addresses that are kept. In out, a character represents each.
	kept []string
	text string
	at   int
	out  []byte
	// open has the brackets that may begin a link.
	open []bracket
}

// bracket is an opening bracket, by its offset in out.
type bracket struct {
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

// keep returns the character for an address, if it may be kept.
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

// allows reports whether one more address may be kept.
func (s *sanitizer) allows(address string) bool {
	host := hostOf(address)
	if host == "" || !s.known.addresses[address] || len(s.kept) == maxLinks {
		return false
	}
	same := 0
	for _, kept := range s.kept {
		if hostOf(kept) == host {
			same++
		}
	}
	return same < maxHostLinks
}

// replaceLinks keeps or replaces the addresses in plain text and in the texts of links.
func (s *sanitizer) replaceLinks(text string) string {
	var out strings.Builder
	last := 0
	for _, end := range linkEnd.FindAllStringIndex(text, -1) {
		out.WriteString(linkInText().ReplaceAllStringFunc(text[last:end[0]], s.replaceLink) + text[end[0]:end[1]])
		last = end[1]
	}
	return out.String() + linkInText().ReplaceAllStringFunc(text[last:], s.replaceLink)
}

// Punctuation that may follow an address in a sentence. Programs do not take outsideMarks as
// part of the address.
const (
	outsideMarks = ".,:!?*_~)"
	marks        = outsideMarks + ";\"'`|]>"
	// maxTail limits the marks after an address.
	maxTail = 8
)

// replaceLink keeps an address in a text, with the marks after it, or replaces it.
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

func (s *sanitizer) run() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\\' && s.at+1 < len(s.text):
			s.copy(2)
		case c == '[':
			image := len(s.out) > 0 && s.out[len(s.out)-1] == '!'
			if image { // with a space it is none
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

func (s *sanitizer) copy(n int) {
	s.out = append(s.out, s.text[s.at:s.at+n]...)
	s.at += n
}

// close handles a closing bracket, which ends the text of a link or begins the definition
// of one.
func (s *sanitizer) close() {
	var opened *bracket
	if last := len(s.open) - 1; last >= 0 {
		opened, s.open = &s.open[last], s.open[:last]
	}
	rest := s.text[s.at+1:]
	switch {
	case strings.HasPrefix(rest, "("):
		s.inline(opened, rest[1:])
	case strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "::"):
		// Definitions are removed: an image may use one. Two colons are a cast in SQL.
		s.out = append(s.out, `]\:`...)
		s.at += 2
	default:
		s.copy(1)
	}
}

// inline handles the target of a link or an image.
func (s *sanitizer) inline(opened *bracket, rest string) {
	address, after, ok := destination(rest)
	if ok {
		after, ok = endOfLink(after)
	}
	if !ok || opened == nil { // no link
		s.out = append(s.out, `]\(`...)
		s.at += 2
		return
	}
	s.at = len(s.text) - len(after)
	if opened.image {
		s.out = slices.Delete(s.out, opened.at-len("! "), opened.at+1)
	} else if kept, ok := s.keep(address); ok {
		s.out = append(s.out, "]("+kept+")"...)
	} else {
		s.out = slices.Delete(s.out, opened.at, opened.at+1)
	}
}

// destination parses the address of a link, in angle brackets or up to a space or an
// unmatched parenthesis, and returns the text after it. The limit of its length keeps the time
// linear for a text with many beginnings of links.
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

// endOfLink skips a title and the closing parenthesis.
func endOfLink(text string) (after string, ok bool) {
	const blanks = " \t\n"
	text = strings.TrimLeft(text, blanks)
	title := linkTitle.FindString(text[:min(len(text), maxAddress)])
	return strings.CutPrefix(strings.TrimLeft(text[len(title):], blanks), ")")
}

// angle handles an angle bracket before an address or HTML. A space after it makes HTML a
// plain text, which also reads well outside of Markdown, as a comparison in a plan.
func (s *sanitizer) angle() {
	rest := s.text[s.at+1:]
	if end := strings.IndexByte(rest[:min(len(rest), maxAddress)], '>'); end >= 0 {
		if kept, ok := s.keep(rest[:end]); ok {
			s.out = append(s.out, "<"+kept+">"...)
			s.at += end + 2
			return
		}
	}
	if htmlStart.MatchString(rest) {
		s.out = append(s.out, "< "...)
		s.at++
		return
	}
	s.copy(1)
}
