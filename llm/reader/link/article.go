package link

import (
	"strconv"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

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
