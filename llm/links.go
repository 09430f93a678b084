package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/sqltext"
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

// storedTime bounds the search for addresses in the data.
const storedTime = 15 * time.Second

// storedLinks gives those of some addresses that the data holds as they are. That a
// row of a result has one proves nothing: a model that obeys the data can write a
// query that puts one together, with other rows in it, or cuts one short.
func storedLinks(ctx context.Context, task AnswerTask, used []string) links {
	kept := newLinks()
	if len(used) == 0 || task.Data == nil {
		return kept
	}
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	for _, d := range task.Datasets {
		if sql := storedQuery(d, used); sql != "" && lookedUp(d, task.Steps) {
			// What cannot be looked for is not there.
			if rows, err := task.Data.Query(ctx, sql); err == nil && len(rows.Rows) == 1 {
				kept.keep(used, rows.Rows[0])
			}
		}
	}
	return kept
}

// keep takes the addresses that a row of storedQuery says are there.
func (l links) keep(used []string, row json.RawMessage) {
	var held map[string]any
	_ = json.Unmarshal(row, &held)
	for i, address := range used {
		if held[fmt.Sprint("a", i)] == true {
			l.addresses[address] = true
		}
	}
}

// lookedUp reports whether a step may have read a dataset.
func lookedUp(d Dataset, steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return strings.Contains(strings.ToLower(s.Query), strings.ToLower(d.Name))
	})
}

// storedQuery asks which of some addresses stand by themselves in a text of a
// dataset, as links.addText finds them; "" when it has no texts.
func storedQuery(d Dataset, addresses []string) string {
	var texts, near, found []string
	for _, c := range d.Columns {
		if strings.Contains(c.Type, "VARCHAR") || strings.Contains(c.Type, "JSON") {
			texts = append(texts, fmt.Sprintf("CAST(%s AS VARCHAR)", sqltext.Name(c.Name)))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	for i, address := range addresses {
		alone := `(^|[` + notInAddress + `(,;])` + regexp.QuoteMeta(address) + `[.,;:!?*_~)]*($|[` + notInAddress + `]|[,;]https?://)`
		near = append(near, fmt.Sprintf("contains(texts, %s)", sqltext.Text(address)))
		found = append(found, fmt.Sprintf("bool_or(regexp_matches(texts, %s)) AS a%d", sqltext.Text(alone), i))
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT concat_ws(' ', %s) AS texts FROM %s) WHERE %s",
		strings.Join(found, ", "), strings.Join(texts, ", "), sqltext.Name(d.Name), strings.Join(near, " OR "))
}
