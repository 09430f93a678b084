package link

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

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

// numbers finds numbers in digits and words, and those with a scale: 3 million.
func (f *finder) numbers() {
	for i, t := range f.tokens {
		n, ok := number(t.Lower)
		if !ok && f.covered[i] == 0 {
			n, ok = number(withoutUnit(t.Lower))
		}
		if !ok {
			continue
		}
		if f.negative(i) {
			n = -n
		}
		text := strconv.FormatFloat(n, 'f', -1, 64)
		if !f.inPeriod(i) {
			f.add(ir.Value{Kind: ir.NumberValue, Text: text, Exact: true}, i, i+1, NumberText)
		}
		if i+1 < len(f.tokens) {
			if scale, ok := scales[f.tokens[i+1].Lower]; ok {
				f.add(ir.Value{Kind: ir.NumberValue, Text: strconv.FormatFloat(n*scale, 'f', -1, 64), Exact: true}, i, i+2, NumberText)
			}
		}
	}
}

// units are those that people write right after a number.
var units = words("g kg mg t km cm mm ml l h hr hrs min mins sec s kw kwh mw mwh gb mb tb eur euro euros usd dollars gbp chf kcal cal mph kmh c px pts x")

// withoutUnit gives the digits of a number that has its unit right after it: 20 of 20g.
func withoutUnit(word string) string {
	at := strings.IndexFunc(word, unicode.IsLetter)
	if at > 0 && units[word[at:]] {
		return word[:at]
	}
	return ""
}

// negative reports whether a number has a minus sign: one that belongs to no word
// before it.
func (f *finder) negative(i int) bool {
	if i == 0 || f.tokens[i].Start != f.tokens[i-1].End || !isDigit(f.tokens[i].Text, 0) {
		return false
	}
	sign := f.tokens[i-1].Text
	return (sign == "-" || sign == "−") && (i == 1 || f.tokens[i-2].End < f.tokens[i-1].Start)
}

// inPeriod reports whether a token is part of a period, which has the number too.
func (f *finder) inPeriod(i int) bool {
	return slices.ContainsFunc(f.found, func(x Found) bool { return x.How == Period && x.Start <= i && i < x.End })
}

// number reads digits, number words and forms such as 5th, 3k, 12,50 and 1.250,50.
func number(s string) (float64, bool) {
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
