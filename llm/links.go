package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// links are the addresses that may stand in a text.
type links struct {
	addresses map[string]bool
	// hosts may stand in a query.
	hosts map[string]bool
}

func newLinks() links { return links{addresses: map[string]bool{}, hosts: map[string]bool{}} }

// notInAddress are the characters that end an address in data, for a class of a
// regular expression. Programs disagree about them in addresses, too.
const notInAddress = `\s<>"'` + "`" + `\\^{|}\[\]\x00-\x1f`

var (
	// goodAddress is what a link may be: nothing that programs read in different
	// ways, such as a user before the host.
	goodAddress = regexp.MustCompile(`^(?i)https?://([a-z0-9.-]+)(?::[0-9]{1,5})?(?:[/?#][^` + notInAddress + `]*)?$`)
	// addressInData matches an address that stands by itself in a text of the data.
	addressInData = regexp.MustCompile(`(?i)(?:^|[` + notInAddress + `(,;])(https?://[^` + notInAddress + `]+)`)
	nextAddress   = regexp.MustCompile(`(?i)[,;]https?://`)
	// leads matches what Markdown and HTML make a link or an image of. Two colons are
	// a cast in SQL.
	leads    = regexp.MustCompile(`(?i)\]\(|\]:(?:[^:]|$)|//\[|<[a-z][^>]*\b(?:src|href|srcset|style|action|data)\s*=`)
	bareHost = regexp.MustCompile(`^(?i)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
)

// linksIn gives the addresses in the rows of steps.
func linksIn(steps []Step) links {
	known := newLinks()
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
	known := newLinks()
	texts := []string{task.Question, task.Hints}
	for _, turn := range task.Earlier {
		texts = append(texts, turn.Question)
	}
	for _, text := range texts {
		known.addText(text)
		known.addHosts(text)
	}
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

// addText takes the addresses that stand by themselves in a text: as they are, and
// without the punctuation of a sentence around them. A part of one is none.
func (l links) addText(text string) {
	for _, found := range addressInData.FindAllStringSubmatch(text, -1) {
		address := found[1]
		for address != "" {
			next := nextAddress.FindStringIndex(address)
			one, rest := address, ""
			if next != nil {
				one, rest = address[:next[0]], address[next[0]+1:]
			}
			l.addresses[one] = true
			one = strings.TrimRight(one, ".,;:!?*_~")
			l.addresses[one] = true
			l.addresses[strings.TrimRight(one, ".,;:!?*_~)")] = true
			address = rest
		}
	}
}

// addHosts takes the hosts of the addresses in a text, and those that stand alone.
func (l links) addHosts(text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n<>()[]\"'`,;|", r) }) {
		word = strings.TrimRight(word, ".,;:!?*_~")
		if found := goodAddress.FindStringSubmatch(word); found != nil {
			l.hosts[normalHost(found[1])] = true
		} else if host, _, _ := strings.Cut(word, "/"); bareHost.MatchString(host) {
			l.hosts[normalHost(host)] = true
		}
	}
}

func normalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// checkQuery refuses a query that leads somewhere when it is shown as Markdown:
// one that holds a link, or an address whose host the asker has not written. The
// beginning of an address alone, as in LIKE 'https://%', leads nowhere.
func (l links) checkQuery(sql string) error {
	text := decodeEntities(sql)
	if leads.MatchString(text) || scripts.MatchString(text) {
		return errors.New("sql holds a link or an image")
	}
	for _, address := range addressInText.FindAllString(text, -1) {
		at := addressStart.FindString(address)
		host := hostInSQL.FindStringSubmatch(address[len(at):])
		if host == nil || host[1] != "" && !l.hosts[normalHost(host[1])] {
			return fmt.Errorf("sql holds the address %q, which is not in the question: leave https:// and www. out", shorten(address, 100))
		}
	}
	return nil
}

var (
	addressStart = regexp.MustCompile(`(?i)^(?:` + addressStarts + `)`)
	// hostInSQL matches a host, or the end of a text that has none.
	hostInSQL = regexp.MustCompile(`^(?i)([a-z0-9][a-z0-9.-]*)?(?:[/?#%'"].*)?$`)
)
