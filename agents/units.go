package agents

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/internal/lru"
	"parley/internal/unitname"
	"parley/llm"
)

// Profiles reads what the columns of a dataset hold.
type Profiles interface {
	Profile(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetProfile, error)
}

const (
	// maxProfiles limits the profiles that are read for one query.
	maxProfiles = 4
	// maxCachedUnits is how many versions of datasets have their units cached: profiles can
	// be large.
	maxCachedUnits = 1000
)

// units returns the units of the numbers of a result, by column: that of the column of a
// dataset with the same name, or of which it is a sum, an average, a minimum or a maximum; or else the
// one in its own name.
func (w *Run) units(ctx context.Context, sql string, columns []domain.Column) map[string]string {
	numeric := func(c domain.Column) bool { return domain.KindOf(c.Type) == domain.KindNumber }
	if !slices.ContainsFunc(columns, numeric) {
		return nil
	}
	known := map[string]string{} // by the letters of a column, "" where datasets differ
	for _, dataset := range w.named(sql) {
		of := w.unitsOf(ctx, dataset)
		for _, c := range dataset.Columns {
			name, unit := letters(c.Name), of[strings.ToLower(c.Name)]
			if unit == "" && c.Type == "TIME" && hasName(strings.ToLower(sql), "epoch") {
				unit = "s" // a number of it is that of seconds
			}
			if other, twice := known[name]; twice && other != unit {
				unit = ""
			}
			known[name] = unit
		}
	}
	units := map[string]string{}
	compared := ""
	for _, c := range columns {
		name, isFigure := strings.CutPrefix(c.Name, "__") // one that is compared, with its conditions
		if isFigure {
			name, _, _ = strings.Cut(name, " ")
		}
		sources := sourceColumns(name)
		at := slices.IndexFunc(sources, func(source string) bool { _, ok := known[source]; return ok })
		unit := ""
		switch {
		case !numeric(c):
		case at >= 0:
			unit = known[sources[at]]
		default:
			unit = unitname.Of("total "+c.Name, "")
		}
		if unit != "" {
			units[c.Name] = unit
		}
		if isFigure {
			compared = unit
		}
	}
	if compared != "" && columns[0].Name == "difference" {
		units["difference"] = compared
	}
	return units
}

// named returns the first datasets that a query names.
func (w *Run) named(sql string) (found []llm.Dataset) {
	sql = strings.ToLower(sql)
	for _, dataset := range w.task.Datasets {
		if len(found) < maxProfiles && hasName(sql, strings.ToLower(dataset.Name)) {
			found = append(found, dataset)
		}
	}
	return found
}

// hasName reports whether a text has a name that is not a part of another.
func hasName(text, name string) bool {
	inName := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !inName(before) && !inName(after) {
			return true
		}
		from = at + len(name)
	}
}

// unitsOf returns the units of a dataset, by column in lower case.
func (w *Run) unitsOf(ctx context.Context, dataset llm.Dataset) map[string]string {
	if at := slices.IndexFunc(w.attached, func(d domain.DatasetData) bool { return d.Name == dataset.Name }); at >= 0 {
		return byLowerName(w.attached[at].Units)
	}
	if units, ok := w.config.units.Get(dataset.Version); ok {
		return units
	}
	units := map[string]string{}
	for _, c := range dataset.Columns {
		if unit := unitname.Of(c.Name, c.Description); unit != "" {
			units[strings.ToLower(c.Name)] = unit
		}
	}
	if w.config.Profiles == nil {
		return units
	}
	ref := domain.DatasetRef{Owner: w.question.Namespace.Owner, Namespace: w.question.Namespace.Name, Name: dataset.Name}
	profile, err := w.config.Profiles.Profile(ctx, w.question.Caller, ref)
	if err != nil {
		return units // without the others the numbers are right too
	}
	for _, c := range profile.Columns {
		if c.Unit != "" {
			units[strings.ToLower(c.Name)] = c.Unit
		}
	}
	w.config.units.Put(dataset.Version, units, 1)
	return units
}

// newUnitCache makes a cache of units by version of a dataset.
func newUnitCache() *lru.Cache[string, map[string]string] {
	return lru.New[string, map[string]string](maxCachedUnits)
}

// byLowerName returns units by column in lower case.
func byLowerName(units map[string]string) map[string]string {
	lower := make(map[string]string, len(units))
	for name, unit := range units {
		lower[strings.ToLower(name)] = unit
	}
	return lower
}

// ofColumn are words of names for what has the unit of the column that it is computed of.
var ofColumn = []string{"sum", "total", "avg", "average", "mean", "median", "min", "max", "minimum", "maximum", "lowest", "highest"}

// letters returns the letters and digits of a name in lower case: the reader names the total of
// "costs (€)" total_costs.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// sourceColumns returns the letters of the columns of datasets that a column of a result may have its
// unit from.
func sourceColumns(name string) []string {
	name = strings.ToLower(name)
	if function, argument, ok := strings.Cut(name, "("); ok {
		if !slices.Contains(ofColumn, function) || !strings.HasSuffix(argument, ")") {
			return nil
		}
		return []string{letters(argument)}
	}
	sources := []string{letters(name)}
	for _, word := range ofColumn {
		if rest, ok := strings.CutPrefix(name, word+"_"); ok {
			sources = append(sources, letters(rest))
		}
		if rest, ok := strings.CutSuffix(name, "_"+word); ok {
			sources = append(sources, letters(rest))
		}
	}
	return sources
}
