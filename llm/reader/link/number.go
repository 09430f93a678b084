package link

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

var numberWords = func() map[string]int {
	all := map[string]int{"once": 1, "twice": 2, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		all[w] = i
	}
	return all
}()

var scales = map[string]float64{"hundred": 100, "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}

// measuredDimensions returns the dimensions of all columns with a unit. Columns of dates
// allow units of time.
func measuredDimensions(cat *catalog.Catalog) map[string]bool {
	all := map[string]bool{}
	for i := range cat.Columns {
		switch c := &cat.Columns[i]; {
		case c.Unit != "":
			all[catalog.Dimension(c.Unit)] = true
		case c.Kind == catalog.Date:
			all["time"] = true
		}
	}
	return all
}

// measuredUnit returns a unit; "" if no column has its dimension.
func (f *valueFinder) measuredUnit(unit string) string {
	if f.dimensions[catalog.Dimension(unit)] {
		return unit
	}
	return ""
}

// unitAt returns the unit at a token, such as hours or -hour, and its end; "" and the token
// for none.
func (f *valueFinder) unitAt(i int) (unit string, end int) {
	end = i + 1
	if wordAt(f.tokens, i) == "-" {
		end++
	}
	if unit = f.measuredUnit(catalog.Unit(wordAt(f.tokens, end-1))); unit == "" || wordAt(f.tokens, end-1) == "m" && !f.isMetres(end-1) {
		return "", i
	}
	return unit, end
}

// isMetres reports whether the m at the end of a token means metres: a column is measured in
// length, and m is no capital and not beside a currency. Otherwise it means million.
func (f *valueFinder) isMetres(i int) bool {
	if !strings.HasSuffix(f.tokens[i].Text, "m") || !f.dimensions["length"] {
		return false
	}
	start := i
	if f.tokens[i].Lower == "m" {
		start--
	}
	return !(start > 0 && currencies[f.tokens[start-1].Lower]) && !currencies[wordAt(f.tokens, i+1)]
}

var currencies = catalog.WordSet("$ € £ ¥ usd eur gbp chf dollar dollars euro euros pound pounds franc francs")

// unitOf returns the unit of the number at a token, as in 2 hours, 2 to 3 hours or 3k, and
// the end of both.
func (f *valueFinder) unitOf(i int) (unit string, end int) {
	if unit, end = f.unitAt(i + 1); unit != "" {
		return unit, end
	}
	if _, plain := parseNumber(strings.TrimRight(f.tokens[i].Lower, "kmbn")); plain && strings.ContainsAny(f.tokens[i].Lower, "kmb") && isDigit(f.tokens[i].Lower, 0) {
		return f.measuredUnit("one"), end
	}
	if w := wordAt(f.tokens, i+1); w == "and" || w == "to" || w == "or" || w == "-" {
		if _, ok := parseNumber(wordAt(f.tokens, i+2)); ok {
			unit, _ = f.unitAt(i + 3)
		}
	}
	return unit, end
}

// findNumberWithUnit finds a number and unit in one token: 5kg.
func (f *valueFinder) findNumberWithUnit(i int) {
	text := f.tokens[i].Lower
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit := catalog.Unit(text[len(digits):])
	if n, ok := parseNumber(digits); ok && unit != "" && digits != text {
		f.add(ir.Value{Kind: ir.NumberValue, Text: strconv.FormatFloat(n, 'f', -1, 64), Exact: true, Unit: f.measuredUnit(unit)}, i, i+1, NumberText)
	}
}

// findNumbers finds numbers in digits and words, and those with a scale: 3 million.
func (f *valueFinder) findNumbers() {
	for i, t := range f.tokens {
		n, ok := parseNumber(t.Lower)
		if digits, cut := strings.CutSuffix(t.Lower, "m"); cut && digitsEnd(digits, 0) == len(digits) && f.isMetres(i) {
			ok = false
		}
		if !ok {
			f.findNumberWithUnit(i)
			f.findArticle(i)
			continue
		}
		if f.isNegative(i) {
			n = -n
		}
		text := strconv.FormatFloat(n, 'f', -1, 64)
		if !f.inPeriod(i) {
			unit, end := f.unitOf(i)
			f.add(ir.Value{Kind: ir.NumberValue, Text: text, Exact: true, Unit: unit}, i, end, NumberText)
		}
		if i+1 < len(f.tokens) {
			if scale, ok := scales[f.tokens[i+1].Lower]; ok && !f.isMetres(i+1) {
				unit, end := f.unitAt(i + 2)
				f.add(ir.Value{Kind: ir.NumberValue, Text: strconv.FormatFloat(n*scale, 'f', -1, 64), Exact: true, Unit: cmp.Or(unit, f.measuredUnit("one"))}, i, end, NumberText)
			}
		}
	}
}

// isNegative reports whether a number has a minus sign that is not a hyphen.
func (f *valueFinder) isNegative(i int) bool {
	if i == 0 || f.tokens[i].SpaceBefore || !isDigit(f.tokens[i].Text, 0) {
		return false
	}
	sign := f.tokens[i-1].Text
	return (sign == "-" || sign == "−") && (i == 1 || f.tokens[i-1].SpaceBefore)
}

// inPeriod reports whether a token is part of a period.
func (f *valueFinder) inPeriod(i int) bool {
	return slices.ContainsFunc(f.matches, func(x ValueMatch) bool { return x.How == Period && x.Start <= i && i < x.End })
}

// parseNumber reads digits, number words and forms such as 5th, 3k, 12,50 and 1.250,50.
func parseNumber(s string) (float64, bool) {
	if n, ok := numberWords[s]; ok {
		return float64(n), true
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	s = strings.ReplaceAll(s, " ", "")
	if dotGroupsEnd(s, digitsEnd(s, 0)) == len(s) {
		s = strings.ReplaceAll(s, ".", "")
	}
	if whole, fraction, ok := strings.Cut(s, ","); ok && len(fraction) != 3 && !strings.Contains(fraction, ",") && !strings.Contains(s, ".") {
		s = whole + "." + fraction
	}
	s = strings.ReplaceAll(s, ",", "")
	for suffix, scale := range scales {
		if rest, ok := strings.CutSuffix(s, suffix); ok && len(suffix) <= 2 {
			if n, err := strconv.ParseFloat(rest, 64); err == nil {
				return n * scale, true
			}
		}
	}
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		s = strings.TrimSuffix(s, suffix)
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// comparisons are the words before a quantity that it is compared with. After others, an
// article is no number: orders a day.
var comparisons = catalog.WordSet("than over under above below least most within exactly exceed exceeds exceeding exceeded lasting lasts lasted took takes taking")

// findArticle finds a number in the form of an article: more than an hour, half a year, an
// hour and a half, a million.
func (f *valueFinder) findArticle(i int) {
	if w := f.tokens[i].Lower; w != "a" && w != "an" || i == 0 {
		return
	}
	start, number, word := i, 1.0, wordAt(f.tokens, i+1)
	if f.tokens[i-1].Lower == "half" {
		start, number = i-1, 0.5
	}
	value := func(number float64, unit string, end int) {
		f.add(ir.Value{Kind: ir.NumberValue, Text: strconv.FormatFloat(number, 'f', -1, 64), Exact: true, Unit: f.measuredUnit(unit)}, start, end, NumberText)
	}
	if scale, ok := scales[word]; ok && scale >= scales["thousand"] && len(word) > 2 {
		value(number*scale, "one", i+2)
		return
	}
	unit := catalog.Unit(word)
	if unit == "" || len(word) < len("day") || start == 0 || number == 1 && !comparisons[f.tokens[start-1].Lower] {
		return
	}
	switch {
	case number == 1 && wordAt(f.tokens, i+2) == "and" && wordAt(f.tokens, i+3) == "a" && wordAt(f.tokens, i+4) == "half":
		value(1.5, unit, i+5)
	case number == 0.5 && unit == "hour":
		value(30, "minute", i+2)
	default:
		value(number, unit, i+2)
	}
}
