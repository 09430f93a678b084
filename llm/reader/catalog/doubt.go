package catalog

import (
	"slices"
	"strings"
)

// Doubt says why the texts of a column cannot be compared as numbers or dates.
type Doubt uint8

// The doubts about texts.
const (
	NoDoubt Doubt = iota
	// MixedUnits is for numbers with different units: 2 kg and 500 g.
	MixedUnits
	// EitherDecimal is for numbers whose decimal sign is not certain: 1.234 can be whole or a
	// fraction.
	EitherDecimal
	// EitherOrder is for dates that can be d/m/y or m/d/y.
	EitherOrder
)

var (
	amountParts   = lazyRegexp(`^[\s+~<>≈−–-]*([$£€¥]?)[\s−–-]*([\d.,]*\d)\s*(%|[a-zA-Z²³/€$£]*)`)
	pointFraction = lazyRegexp(`^\d*\.(\d{1,2}|\d{4,})$|^0?\.\d+$|^\d{4,}\.\d+$|^\d{1,3}(,\d{3})+\.\d+$|^\d{1,3}(,\d{3}){2,}$`)
	commaFraction = lazyRegexp(`^\d*,(\d{1,2}|\d{4,})$|^0?,\d+$|^\d{4,},\d+$|^\d{1,3}(\.\d{3})+,\d+$|^\d{1,3}(\.\d{3}){2,}$`)
	eitherNumber  = lazyRegexp(`^\d{1,3}[.,]\d{3}$`)
	slashParts    = lazyRegexp(`^(\d{1,2})/(\d{1,2})/\d{4}`)
	ordinals      = WordSet("st nd rd th")
)

// Multipliers has what a text after a number, in lower case, multiplies it by.
var Multipliers = map[string]string{"": "1", "k": "1e3", "m": "1e6", "mn": "1e6", "mio": "1e6", "b": "1e9", "bn": "1e9"}

// forms are the different forms of the values of a column, each with a value that has it.
type forms struct{ all, values []string }

func (f *forms) add(form, value string) {
	if !slices.Contains(f.all, form) {
		f.all, f.values = append(f.all, form), append(f.values, value)
	}
}

// setNumberForm finds how the texts of a column write numbers.
func (c *Column) setNumberForm() {
	var signs, suffixes, points, commas, either forms
	for _, v := range c.Values {
		v = strings.TrimSpace(v)
		m := amountParts().FindStringSubmatch(v)
		switch {
		case IsMissing(v) || !strings.ContainsAny(v, "0123456789"):
			continue
		case m == nil || !numberCell().MatchString(v):
			suffixes.add(v, v) // words around the number
			continue
		}
		signs.add(m[1], v)
		suffixes.add(singular(strings.ToLower(m[3])), v)
		switch {
		// Nobody writes thousandths of dollars after a comma.
		case pointFraction().MatchString(m[2]), m[1] == "$" && eitherNumber().MatchString(m[2]) && strings.Contains(m[2], ","):
			points.add("", v)
		case commaFraction().MatchString(m[2]):
			commas.add("", v)
		case eitherNumber().MatchString(m[2]):
			either.add("", v)
		}
	}
	c.DecimalComma = len(commas.all) > 0
	c.Multiplies = multiply(suffixes.all, !slices.Contains(signs.all, ""))
	switch {
	case len(suffixes.all) > 1 && !c.Multiplies:
		c.Doubt, c.Doubtful = MixedUnits, suffixes.values
	case len(signs.all) > 1 && (len(signs.all) > 2 || !slices.Contains(signs.all, "")):
		c.Doubt, c.Doubtful = MixedUnits, signs.values
	case len(points.all)+len(commas.all) == 2, len(points.all)+len(commas.all) == 0 && len(either.all) > 0:
		c.Doubt, c.Doubtful = EitherDecimal, slices.Concat(points.values, commas.values, either.values)
	}
}

// singular returns the singular of a unit: star of stars. An ordinal has none.
func singular(unit string) string {
	if one, ok := strings.CutSuffix(unit, "s"); ok && len(one) > 1 {
		return one
	}
	if ordinals[unit] {
		return ""
	}
	return unit
}

// multiply reports whether the texts after numbers surely multiply them: they are different
// ones, or the numbers are money. M alone can be metres.
func multiply(suffixes []string, money bool) bool {
	letters := slices.DeleteFunc(slices.Clone(suffixes), func(s string) bool { return s == "" })
	return (len(letters) > 1 || len(letters) == 1 && money) && !slices.ContainsFunc(letters, func(s string) bool { return Multipliers[s] == "" })
}

// setDateForm finds how the texts of a column write dates.
func (c *Column) setDateForm() {
	var day, month, all forms
	for _, v := range c.Values {
		m := slashParts().FindStringSubmatch(strings.TrimSpace(v))
		if m == nil {
			continue
		}
		all.add("", v)
		if isDay(m[1]) {
			day.add("", v)
		}
		if isDay(m[2]) {
			month.add("", v)
		}
	}
	c.DayFirst = len(day.all) > 0
	if len(all.all) > 0 && len(day.all) == len(month.all) {
		c.Doubt, c.Doubtful = EitherOrder, slices.Compact(slices.Concat(all.values, day.values, month.values))
	}
}

// isDay reports whether a number of a date is too large for a month.
func isDay(number string) bool { return len(number) == 2 && number > "12" }
