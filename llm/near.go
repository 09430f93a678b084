package llm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/internal/near"
	"parley/internal/sqltext"
)

const (
	maxNearNames    = 4
	maxNearMissText = 3 << 10
)

var (
	// nameInSQL matches a quoted name, a text, or a bare word. Texts are matched so
	// that the words in them are not taken as names. Like alias it has large classes, which
	// are not compiled at the start of every process.
	nameInSQL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"]|"")+"|'(?:[^']|'')*'|[\pL_][\pL\pN_]*`) })
	// alias matches a name that a query defines.
	alias = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bas\s+("(?:[^"]|"")+"|[\pL_][\pL\pN_]*)`) })
	// keywords are the words of SQL that resemble common names of columns.
	keywords = strings.Fields(`select from where group order by as on join left right inner outer full cross with
		and or not in is null like ilike between case when then else end limit offset having distinct asc desc union all
		count sum avg min max cast date year month day over partition row rows using true false`)
)

// nearMissText returns, for the names in failed queries that do not exist, similar ones that
// do, and the columns of every dataset that such a query names.
func nearMissText(failed []FailedQuery, datasets []Dataset) string {
	var names []string
	places := map[string][]string{} // of each name: the datasets and columns
	add := func(name, place string) {
		if places[name] == nil {
			names = append(names, name)
		}
		places[name] = append(places[name], place)
	}
	for _, d := range datasets {
		add(d.Name, "dataset "+sqltext.Name(d.Name))
		for _, c := range d.Columns {
			add(c.Name, sqltext.Name(c.Name)+" in "+sqltext.Name(d.Name))
		}
	}
	var out strings.Builder
	for _, name := range namesIn(failed) {
		if out.Len() > maxNearMissText {
			break
		}
		if d, found := datasetNamed(datasets, name); found {
			fmt.Fprintf(&out, "%s has the columns: %s\n", sqltext.Name(d.Name), shorten(columnNames(d.Columns), maxNearMissText))
			continue
		}
		similar := near.Names(name, names, maxNearNames)
		exists := slices.ContainsFunc(similar, func(s string) bool { return strings.EqualFold(s, name) })
		if len(similar) == 0 || exists || slices.Contains(keywords, strings.ToLower(name)) {
			continue
		}
		var options []string
		for _, s := range similar {
			options = append(options, places[s]...)
		}
		options = options[:min(len(options), maxNearNames)]
		fmt.Fprintf(&out, "%s is not there; there is: %s\n", sqltext.Name(name), strings.Join(options, ", "))
	}
	return out.String()
}

// namesIn returns the different names in failed queries, without aliases, those that the
// reasons repeat first.
func namesIn(failed []FailedQuery) []string {
	var blamed, other []string
	for _, f := range failed {
		given := map[string]bool{}
		for _, found := range alias().FindAllStringSubmatch(f.SQL, -1) {
			given[found[1]] = true
		}
		for _, name := range nameInSQL().FindAllString(f.SQL, -1) {
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
	seen := map[string]bool{}
	return slices.DeleteFunc(append(blamed, other...), func(name string) bool {
		lower := strings.ToLower(name)
		again := seen[lower]
		seen[lower] = true
		return again
	})
}

func datasetNamed(datasets []Dataset, name string) (Dataset, bool) {
	i := slices.IndexFunc(datasets, func(d Dataset) bool { return strings.EqualFold(d.Name, name) })
	if i < 0 {
		return Dataset{}, false
	}
	return datasets[i], true
}

// columnNames lists the names of columns, quoted.
func columnNames(columns []Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = sqltext.Name(c.Name)
	}
	return strings.Join(names, ", ")
}
