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
	hosts, addresses map[string]bool
	// used notes those that were let stand.
	used map[string]bool
}

func newLinks() links {
	return links{hosts: map[string]bool{}, addresses: map[string]bool{}, used: map[string]bool{}}
}

var (
	// goodAddress is what a link may be: nothing that programs read in different
	// ways, such as a user before the host.
	goodAddress = regexp.MustCompile("^(?i)https?://([a-z0-9.-]+)(?::[0-9]{1,5})?([/?#][^\\s<>\"'`\\\\^{|}\\x00-\\x1f]*)?$")
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
		if v = strings.TrimSpace(v); goodAddress.MatchString(v) {
			l.addresses[v] = true // with parentheses and commas
		}
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

// allows reports whether an address may be linked to, or shown as an image. One
// that is known only by its host may have nothing behind it, where rows could be
// carried along.
func (l links) allows(address string, image bool) bool {
	found := goodAddress.FindStringSubmatch(address)
	if found == nil {
		return false
	}
	allowed := l.addresses[address]
	if !allowed && !image {
		bare := strings.TrimSuffix(address, "/")
		allowed = l.addresses[bare] || l.addresses[bare+"/"] || isRoot(found) && l.hosts[normalHost(found[1])]
	}
	if allowed && l.used != nil {
		l.used[address] = true
	}
	return allowed
}

// isRoot reports whether an address, as goodAddress finds it, is no more than a
// host.
func isRoot(found []string) bool { return found[2] == "" || found[2] == "/" }

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
	addressStart = regexp.MustCompile(`(?i)^(?:[a-z][a-z0-9+.\-]*:\\*/\\*/|www\\*\.)`)
	// hostInSQL matches a host, or the end of a text that has none.
	hostInSQL = regexp.MustCompile(`^(?i)([a-z0-9][a-z0-9.-]*)?(?:[/?#%'"].*)?$`)
)
