package rules

import "strings"

// numberWords are numbers that are written out.
var numberWords = map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
	"nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	"hundred": 100, "thousand": 1000, "million": 1e6, "billion": 1e9, "single": 1, "once": 1, "twice": 2, "dozen": 12,
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
}

// phrase matches some words at a token: alternatives are separated by |, and a
// word that ends in ? may be missing. It gives the token after the match, or -1.
func phrase(tokens []token, at int, pattern string) int {
	if at < 0 {
		return -1
	}
	for part := range strings.FieldsSeq(pattern) {
		optional := strings.HasSuffix(part, "?")
		part = strings.TrimSuffix(part, "?")
		ok := false
		if at < len(tokens) {
			for w := range strings.SplitSeq(part, "|") {
				if tokens[at].lower == w {
					ok = true
					break
				}
			}
		}
		switch {
		case ok:
			at++
		case !optional:
			return -1
		}
	}
	return at
}

// comparator is a phrase that compares.
type comparator struct {
	pattern string
	op      string
	// hint names what is compared when no column is said: older speaks of age.
	hint string
}

var comparators = []comparator{
	{"no|not less|fewer|lower|smaller|younger|earlier|shorter than", ">=", ""},
	{"no|not more|greater|higher|larger|bigger|older|later|longer than", "<=", ""},
	{"not above|over|exceeding", "<=", ""},
	{"not below|under", ">=", ""},
	{"greater|more than or equal to", ">=", ""},
	{"less|fewer than or equal to", "<=", ""},
	{"at least", ">=", ""},
	{"at most", "<=", ""},
	{"a minimum of", ">=", ""},
	{"a maximum of", "<=", ""},
	{"more|greater|larger|bigger|higher|better than", ">", ""},
	{"in excess of", ">", ""},
	{"exceeds|exceed|exceeding|exceeded", ">", ""},
	{"less|fewer|smaller|lower than", "<", ""},
	{"older than", ">", "age"},
	{"younger than", "<", "age"},
	{"longer than", ">", "length"},
	{"shorter than", "<", "length"},
	{"taller than", ">", "height"},
	{"heavier than", ">", "weight"},
	{"lighter than", "<", "weight"},
	{"weighing|weighed|weighted|weigh|weighs more than", ">", "weight"},
	{"cheaper than", "<", "price"},
	{"more? expensive|pricier than", ">", "price"},
	{"faster than", ">", "speed"},
	{"slower than", "<", "speed"},
	{"later than", ">", "year"},
	{"earlier than", "<", "year"},
	{"prior to", "<", "year"},
	{"up to", "<=", ""},
	{"since", ">=", "year"},
	{"after", ">", "year"},
	{"before", "<", "year"},
	{"until", "<=", "year"},
	{"over|above|beyond", ">", ""},
	{"under|below|beneath", "<", ""},
	{"exactly|only", "=", ""},
	{"equal|equals to?", "=", ""},
}

// flipped is the comparator after a negation.
var flipped = map[string]string{">": "<=", "<": ">=", ">=": "<", "<=": ">", "=": "<>", "<>": "="}

// mirrored is the comparator the other way round.
var mirrored = map[string]string{">": "<", "<": ">", ">=": "<=", "<=": ">=", "=": "=", "between": "between"}

// superlative is a word that asks for the greatest or least.
type superlative struct {
	desc bool
	hint string
}

var superlatives = map[string]superlative{
	"most": {true, ""}, "highest": {true, ""}, "largest": {true, ""}, "greatest": {true, ""}, "biggest": {true, ""},
	"maximum": {true, ""}, "max": {true, ""}, "top": {true, ""}, "best": {true, ""}, "peak": {true, ""},
	"least": {false, ""}, "bottom": {false, ""}, "fewest": {false, ""}, "lowest": {false, ""}, "smallest": {false, ""}, "minimum": {false, ""},
	"min": {false, ""}, "worst": {false, ""}, "minimal": {false, ""}, "maximal": {true, ""},
	"oldest": {true, "age"}, "youngest": {false, "age"}, "longest": {true, "length"}, "shortest": {false, "length"},
	"tallest": {true, "height"}, "heaviest": {true, "weight"}, "lightest": {false, "weight"}, "fastest": {true, "speed"},
	"slowest": {false, "speed"}, "earliest": {false, "date"}, "latest": {true, "date"}, "newest": {true, "date"},
	"richest": {true, "worth"}, "poorest": {false, "worth"}, "widest": {true, "width"}, "deepest": {true, "depth"},
	"cheapest": {false, "price"}, "priciest": {true, "price"}, "recent": {true, "date"}, "expensive": {true, "price"},
	"populous": {true, "population"}, "populated": {true, "population"},
}

// hintColumns are the words of columns that a hint may mean, likeliest first.
var hintColumns = map[string][]string{
	"age":        {"age", "birth", "born", "year", "date"},
	"length":     {"length", "duration", "time", "distance", "long", "page", "expectancy", "minute", "day"},
	"height":     {"height", "elevation", "altitude", "tall"},
	"weight":     {"weight", "tonnage", "mass"},
	"speed":      {"speed", "velocity", "time"},
	"year":       {"year", "date", "season", "time", "founded", "established", "opened", "built", "from"},
	"date":       {"date", "year", "time", "season", "day", "released", "founded", "established", "opened", "built"},
	"worth":      {"worth", "money", "income", "salary", "gdp", "earnings", "wealth"},
	"width":      {"width", "wide"},
	"depth":      {"depth", "deep"},
	"price":      {"price", "cost", "fee", "amount"},
	"population": {"population", "resident", "inhabitant"},
	"money":      {"money", "price", "prize", "cost", "salary", "earnings", "budget", "worth", "amount", "fee", "purse", "gross", "revenue", "income"},
	"size":       {"area", "size", "population", "total"},
}

// aggregates are words that ask for one figure of many.
var aggregates = map[string]string{
	"average": "avg", "mean": "avg", "avg": "avg", "averaged": "avg", "total": "sum", "sum": "sum", "combined": "sum",
	"maximum": "max", "max": "max", "minimum": "min", "min": "min", "median": "median",
}

// million and the like, after a number.
var multipliers = map[string]float64{"thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3}

// numberAt reads a number: digits or a word, with a multiplier.
func numberAt(tokens []token, at int) (n float64, end int, ok bool) {
	if at < 0 || at >= len(tokens) {
		return 0, at, false
	}
	t := tokens[at]
	switch {
	case t.isNumber:
		n = t.number
	default:
		var known bool
		if n, known = numberWords[t.lower]; !known {
			return 0, at, false
		}
	}
	end = at + 1
	if end < len(tokens) {
		if m, ok := multipliers[tokens[end].lower]; ok {
			n *= m
			end++
		}
	}
	return n, end, true
}

var months = map[string]int{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9, "october": 10,
	"november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9,
	"oct": 10, "nov": 11, "dec": 12,
}

func yearLike(n float64) bool { return n == float64(int(n)) && n >= 1000 && n <= 2100 }
