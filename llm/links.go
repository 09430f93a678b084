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

// links has the addresses that a text may have, and the hosts that a query may have.
type links struct{ addresses, hosts map[string]bool }

func newLinks() links { return links{addresses: map[string]bool{}, hosts: map[string]bool{}} }

// notInAddress has the characters that end an address in data, for a class of a regular
// expression. Programs disagree about them in addresses.
const notInAddress = `\s<>"'` + "`" + `\\^{|}\[\]\x00-\x1f`

var (
	// goodAddress matches addresses that all programs parse alike, without a user.
	goodAddress = regexp.MustCompile(`^(?i)https?://([a-z0-9.-]+)(?::[0-9]{1,5})?(?:[/?#][^` + notInAddress + `]*)?$`)
	// addressInData matches a whole address in a text of the data.
	addressInData = regexp.MustCompile(`(?i)(?:^|[` + notInAddress + `(,;])(https?://[^` + notInAddress + `]+)`)
	nextAddress   = regexp.MustCompile(`(?i)[,;](https?://)`)
	// markup matches links and images of Markdown and HTML. Two colons are a cast in SQL.
	markup   = regexp.MustCompile(`(?i)\]\(|\]:(?:[^:]|$)|//\[|<[a-z][^>]*\b(?:src|href|srcset|style|action|data)\s*=`)
	bareHost = regexp.MustCompile(`^(?i)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
)

// linksIn returns the addresses in the rows of steps.
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

// knownLinks returns the addresses in the user's texts.
func knownLinks(task Task) links {
	known := newLinks()
	texts := []string{task.Question, task.Hints}
	for _, turn := range task.Earlier {
		texts = append(texts, turn.Question)
	}
	text := strings.Join(texts, "\n")
	known.addText(text)
	known.addHosts(text)
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

// addText adds the addresses in a text: whole ones, with and without the punctuation of a
// sentence after them.
func (l links) addText(text string) {
	for _, found := range addressInData.FindAllStringSubmatch(text, -1) {
		for _, address := range strings.Fields(nextAddress.ReplaceAllString(found[1], " $1")) {
			l.addresses[address] = true
			address = strings.TrimRight(address, ".,;:!?*_~")
			l.addresses[address] = true
			l.addresses[strings.TrimRight(address, ".,;:!?*_~)")] = true
		}
	}
}

// addHosts adds the hosts in a text, of addresses and alone.
func (l links) addHosts(text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n<>()[]\"'`,;|", r) }) {
		word = strings.TrimRight(word, ".,;:!?*_~")
		if host := hostOf(word); host != "" {
			l.hosts[host] = true
		} else if host, _, _ := strings.Cut(word, "/"); bareHost.MatchString(host) {
			l.hosts[normalHost(host)] = true
		}
	}
}

// hostOf returns the host of a good address; "" for others.
func hostOf(address string) string {
	if found := goodAddress.FindStringSubmatch(address); found != nil {
		return normalHost(found[1])
	}
	return ""
}

func normalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// checkQuery refuses a query that would have a link when it is shown as Markdown, or has an
// address whose host is not in the user's texts. The beginning of an address alone, as in
// LIKE 'https://%', is accepted.
func (l links) checkQuery(sql string) error {
	text := decodeEntities(sql)
	if markup.MatchString(text) || scripts.MatchString(text) {
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
	// hostInSQL matches a host or none, and the rest.
	hostInSQL = regexp.MustCompile(`^(?i)([a-z0-9][a-z0-9.-]*)?(?:[/?#%'"].*)?$`)
)

// storedTimeout limits the search for addresses in the data.
const storedTimeout = 15 * time.Second

// storedLinks returns those of some addresses that the data holds as they are. An address in
// a row of a result is no proof: a model that follows instructions in the data can write a
// query that builds one from other rows, or truncates one.
func storedLinks(ctx context.Context, task AnswerTask, used []string) links {
	stored := newLinks()
	if task.Data == nil {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, storedTimeout)
	defer cancel()
	for _, d := range task.Datasets {
		sql := storedQuery(d, used)
		if sql == "" || !mayHaveRead(task.Steps, d) {
			continue
		}
		// After an error, none is taken as stored.
		if rows, err := task.Data.Query(ctx, sql); err == nil && len(rows.Rows) == 1 {
			var found map[string]any
			_ = json.Unmarshal(rows.Rows[0], &found)
			for i, address := range used {
				if found[fmt.Sprint("a", i)] == true {
					stored.addresses[address] = true
				}
			}
		}
	}
	return stored
}

// mayHaveRead reports whether a step may have read a dataset.
func mayHaveRead(steps []Step, d Dataset) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return strings.Contains(strings.ToLower(s.Query), strings.ToLower(d.Name))
	})
}

// storedQuery selects which of some addresses links.addText would find in the texts of a
// dataset; "" when it has no texts.
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
