package llm

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/internal/sqltext"
)

const (
	maxNearNames    = 4
	maxName         = 64
	maxNearMissText = 3 << 10
)

// nameInSQL matches a quoted name, a text, or a bare word. Texts are matched so
// that the words in them are not taken for names.
var nameInSQL = regexp.MustCompile(`"(?:[^"]|"")+"|'(?:[^']|'')*'|[\pL_][\pL\pN_]*`)

// alias matches a name that a query gives itself.
var alias = regexp.MustCompile(`(?i)\bas\s+("(?:[^"]|"")+"|[\pL_][\pL\pN_]*)`)

// nearMissText says, for the names in failed queries that do not exist, which there
// are that may have been meant; and lists the columns of every dataset that such
// a query names.
func nearMissText(failed []FailedQuery, datasets []Dataset) string {
	if len(failed) == 0 {
		return ""
	}
	known := map[string]bool{}
	for _, d := range datasets {
		known[strings.ToLower(d.Name)] = true
		for _, c := range d.Columns {
			known[strings.ToLower(c.Name)] = true
		}
	}
	var out strings.Builder
	seen := map[string]bool{}
	for _, name := range namesIn(failed) {
		lower := strings.ToLower(name)
		if seen[lower] || out.Len() > maxNearMissText {
			continue
		}
		seen[lower] = true
		if d, found := datasetNamed(datasets, name); found {
			out.WriteString(columnsText(d))
		} else if options := nearTo(name, datasets); !known[lower] && len(options) > 0 {
			fmt.Fprintf(&out, "%s is not there; there is: %s\n", sqltext.Name(name), strings.Join(options, ", "))
		}
	}
	return out.String()
}

// namesIn gives the names in failed queries, those that the reasons repeat first.
func namesIn(failed []FailedQuery) []string {
	var blamed, other []string
	for _, f := range failed {
		given := map[string]bool{}
		for _, found := range alias.FindAllStringSubmatch(f.SQL, -1) {
			given[found[1]] = true
		}
		for _, name := range nameInSQL.FindAllString(f.SQL, -1) {
			switch {
			case name[0] == '\'' || given[name]:
				continue
			case name[0] == '"':
				name = strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
			}
			if strings.Contains(f.Reason, name) {
				blamed = append(blamed, name)
			} else {
				other = append(other, name)
			}
		}
	}
	return append(blamed, other...)
}

func datasetNamed(datasets []Dataset, name string) (Dataset, bool) {
	i := slices.IndexFunc(datasets, func(d Dataset) bool { return strings.EqualFold(d.Name, name) })
	if i < 0 {
		return Dataset{}, false
	}
	return datasets[i], true
}

func columnsText(d Dataset) string {
	names := make([]string, len(d.Columns))
	for i, c := range d.Columns {
		names[i] = sqltext.Name(c.Name)
	}
	return fmt.Sprintf("%s has the columns: %s\n", sqltext.Name(d.Name), shorten(strings.Join(names, ", "), maxNearMissText))
}

// nearTo gives the datasets and columns whose names are nearest to one that does
// not exist, the nearest first.
func nearTo(name string, datasets []Dataset) []string {
	if isKeyword[strings.ToLower(name)] {
		return nil
	}
	type option struct {
		text     string
		distance int
	}
	var options []option
	consider := func(candidate, text string) {
		if d, close := distance(name, candidate); close {
			options = append(options, option{text, d})
		}
	}
	for _, d := range datasets {
		consider(d.Name, "dataset "+sqltext.Name(d.Name))
		for _, c := range d.Columns {
			consider(c.Name, fmt.Sprintf("%s in %s", sqltext.Name(c.Name), sqltext.Name(d.Name)))
		}
	}
	slices.SortStableFunc(options, func(a, b option) int { return cmp.Compare(a.distance, b.distance) })
	var texts []string
	for _, o := range options[:min(len(options), maxNearNames)] {
		texts = append(texts, o.text)
	}
	return texts
}

// isKeyword has the words of SQL that are like common names of columns.
var isKeyword = func() map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(`select from where group order by as on join left right inner outer full cross with
		and or not in is null like ilike between case when then else end limit offset having distinct asc desc union all
		count sum avg min max cast date year month day over partition row rows using true false`) {
		words[word] = true
	}
	return words
}()

// distance says how far two names are apart, and whether that is near enough to
// take one for the other: a few letters, or one within the other.
func distance(a, b string) (int, bool) {
	x, y := squeeze(a), squeeze(b)
	if len(x) > maxName || len(y) > maxName || len(x) == 0 || len(y) == 0 {
		return 0, false
	}
	d := editDistance(x, y)
	if d <= (min(len(x), len(y))+1)/3 {
		return d, true
	}
	s, t := string(x), string(y)
	if len(x) >= 3 && len(y) >= 3 && (strings.Contains(s, t) || strings.Contains(t, s)) {
		return d + maxName, true
	}
	return d, false
}

// squeeze leaves out case and what joins words.
func squeeze(name string) []rune {
	return []rune(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name)))
}

// editDistance counts the letters to be added, dropped or changed.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
