package llm

import (
	"encoding/json"
	"regexp"
	"strings"
)

// links are the addresses that may stand in a text.
type links struct {
	hosts, addresses map[string]bool
}

var (
	// goodAddress is what a link may be: nothing that programs read in different
	// ways, such as a user before the host.
	goodAddress = regexp.MustCompile("^(?i)https?://([a-z0-9.-]+)(?::[0-9]{1,5})?(?:[/?#][^\\s<>\"'`\\\\^{|}\\x00-\\x1f]*)?$")
	bareHost    = regexp.MustCompile(`^(?i)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
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
	for _, turn := range task.Earlier {
		known.addText(turn.Question)
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
