package llm

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
)

// A model reads rows that others may have written, and may do as they say: put
// into its answer a link, or an image that is fetched without a click, whose
// address carries rows to somebody else. So an answer keeps a link only to a host
// that is in the rows, and an image only from an address that is there whole. All
// else that a reader's program could follow becomes plain text.
//
// Nothing is left as it is for being code: what is code is a question that
// Markdown's readers answer in different ways.

// links are the addresses that may stand in a text.
type links struct {
	hosts, addresses map[string]bool
}

// removed stands where an address was.
const removed = "‹address removed›"

var (
	// addressInText matches an address the way readers find them in plain text.
	// Backslashes that Markdown would drop do not hide one.
	addressInText = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.\-]*:\\*/\\*/|\bwww\\*\.)[^\s<>()\[\]|]*`)
	// goodAddress is what a link may be: nothing that programs read in different
	// ways, such as a user before the host.
	goodAddress = regexp.MustCompile("^(?i)https?://([a-z0-9.-]+)(?::[0-9]{1,5})?(?:[/?#][^\\s<>\"'`\\\\^{|}\\x00-\\x1f]*)?$")
	bareHost    = regexp.MustCompile(`^(?i)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
	scripts     = regexp.MustCompile(`(?i)\b(javascript|vbscript)\s*:`)
	entity      = regexp.MustCompile(`&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z][a-zA-Z0-9]{1,31});`)
)

// linksIn gives the addresses in the rows of steps.
func linksIn(steps []Step) links {
	known := links{hosts: map[string]bool{}, addresses: map[string]bool{}}
	for _, step := range steps {
		for _, row := range step.Rows.Rows {
			var value any
			if json.Unmarshal(row, &value) == nil {
				known.addValue(value)
			}
		}
	}
	return known
}

// knownLinks gives the addresses that the asker has written.
func knownLinks(task Task) links {
	known := links{hosts: map[string]bool{}, addresses: map[string]bool{}}
	known.addText(task.Question)
	known.addText(task.Hints)
	return known
}

func (l links) addValue(value any) {
	switch v := value.(type) {
	case string:
		l.addText(v)
	case []any:
		for _, item := range v {
			l.addValue(item)
		}
	case map[string]any:
		for _, item := range v {
			l.addValue(item)
		}
	}
}

// addText takes the addresses in a text, and the names of hosts that stand alone.
func (l links) addText(text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n<>()[]\"'`,;|", r) }) {
		word = strings.TrimRight(word, ".,;:!?*_~")
		if at := strings.Index(strings.ToLower(word), "http"); at > 0 && strings.Contains(word, "://") {
			word = word[at:]
		}
		if found := goodAddress.FindStringSubmatch(word); found != nil {
			l.hosts[normalHost(found[1])] = true
			l.addresses[word] = true
		} else if host, _, _ := strings.Cut(word, "/"); bareHost.MatchString(host) {
			l.hosts[normalHost(host)] = true
		}
	}
}

func normalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// allows reports whether an address may be linked to, or shown as an image.
func (l links) allows(address string, image bool) bool {
	found := goodAddress.FindStringSubmatch(address)
	if found == nil {
		return false
	}
	if image {
		return l.addresses[address]
	}
	return l.hosts[normalHost(found[1])]
}

// sanitize gives Markdown that leads nowhere else.
func (l links) sanitize(text string) string {
	text = decodeEntities(text)
	// What is taken out may bring together what was apart: the result must be one
	// in which nothing is left to do.
	for range 8 {
		safe := l.pass(text)
		if safe == text {
			return text
		}
		text = safe
	}
	return strings.NewReplacer("[", "", "]", "", "<", "&lt;", "://", "", "www.", "").Replace(text)
}

func (l links) pass(text string) string {
	s := sanitizer{known: l, text: text}
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

// decodeEntities writes characters for entities, over and over, so that none is
// left to become part of an address later.
func decodeEntities(text string) string {
	for range 8 {
		decoded := entity.ReplaceAllStringFunc(text, html.UnescapeString)
		decoded = strings.Map(dropInvisible, clean(decoded))
		if decoded == text {
			return text
		}
		text = decoded
	}
	return strings.ReplaceAll(text, "&", "")
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
// an unmatched parenthesis. after is what follows it.
func destination(rest string) (address, after string, ok bool) {
	rest = strings.TrimLeft(rest, " \t\n")
	if strings.HasPrefix(rest, "<") {
		end := strings.IndexAny(rest, ">\n")
		if end < 0 || rest[end] == '\n' {
			return "", "", false
		}
		return rest[1:end], rest[end+1:], true
	}
	depth := 0
	for i := 0; i < len(rest); i++ {
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
		for ; i < len(rest) && rest[i] != closer; i++ {
			if rest[i] == '\\' {
				i++
			}
		}
		if i >= len(rest) {
			return -1
		}
		rest = strings.TrimLeft(rest[i+1:], " \t\n")
	}
	if !strings.HasPrefix(rest, ")") {
		return -1
	}
	return len(after) - len(rest) + 1
}

// angle is at an angle bracket. An address that may stay does; what could be HTML
// is escaped.
func (s *sanitizer) angle() {
	rest := s.text[s.at+1:]
	if end := strings.IndexByte(rest, '>'); end >= 0 && s.known.allows(rest[:end], false) {
		s.copy(end + 2)
		return
	}
	if rest != "" && (rest[0] == '/' || rest[0] == '!' || rest[0] == '?' || isLetter(rest[0])) {
		s.out = append(s.out, "&lt;"...)
		s.at++
		return
	}
	s.copy(1)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
