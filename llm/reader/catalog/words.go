package catalog

import (
	"strings"
	"unicode"

	"parley/internal/words"
)

const (
	maxNameWords = 8
	maxHintWords = 24
)

// Fold converts a text to lower case without accents.
func Fold(s string) string { return words.Fold(s) }

// abbreviations are those that are usual in names of columns.
var abbreviations = map[string]string{
	"qty": "quantity", "amt": "amount", "num": "number", "nbr": "number", "nr": "number", "cust": "customer",
	"emp": "employee", "dept": "department", "desc": "description", "addr": "address", "tel": "phone", "dob": "birthday",
	"nm": "name", "fname": "first name", "lname": "last name", "cat": "category", "prod": "product", "inv": "invoice",
	"acct": "account", "avg": "average", "pct": "percent", "dt": "date", "ts": "time", "yr": "year", "mgr": "manager",
	"loc": "location", "temp": "temperature", "wt": "weight", "ht": "height", "lat": "latitude", "lon": "longitude",
	"lng": "longitude", "org": "organization", "pos": "position", "ref": "reference", "stat": "status", "std": "standard",
	"vol": "volume", "ord": "order", "pmt": "payment", "txn": "transaction", "trx": "transaction", "mgmt": "management",
}

// ExpandAbbreviation returns the word that an abbreviation means; "" for other words, and
// for abbreviations of several words.
func ExpandAbbreviation(word string) string {
	if long := abbreviations[word]; !strings.Contains(long, " ") {
		return long
	}
	return ""
}

// NameWords splits a name into words: customer_id, customerId and CustomerID are customer
// and id.
func NameWords(name string) []string {
	var words []string
	add := func(w string) {
		if w == "" || len(words) == maxNameWords {
			return
		}
		w = Fold(w)
		if long, ok := abbreviations[w]; ok {
			for _, x := range strings.Fields(long) {
				if len(words) < maxNameWords {
					words = append(words, x)
				}
			}
			return
		}
		words = append(words, w)
	}
	runes := []rune(name)
	start := -1
	for i, r := range runes {
		word := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if start >= 0 && (!word || startsWord(runes, i)) {
			add(string(runes[start:i]))
			start = -1
		}
		switch {
		case word && start < 0:
			start = i
		case r == '%' || r == '$' || r == '#' || r == '€' || r == '£':
			add(string(r))
		}
	}
	if start >= 0 {
		add(string(runes[start:]))
	}
	if len(words) > 1 && (words[0] == "tbl" || words[0] == "tb" || words[0] == "dim" || words[0] == "fact") {
		words = words[1:]
	}
	if len(words) == 0 {
		return []string{strings.ToLower(strings.TrimSpace(name))}
	}
	return words
}

// startsWord reports whether a new word starts at i within letters and digits: orderDate,
// HTTPCode, address2.
func startsWord(runes []rune, i int) bool {
	before, at := runes[i-1], runes[i]
	switch {
	case unicode.IsLetter(before) && unicode.IsDigit(at):
		return true
	case !unicode.IsUpper(at):
		return false
	case unicode.IsLower(before) || unicode.IsDigit(before):
		return true
	}
	return unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// Hints returns the distinct stems of the words of a description, without stop words.
func Hints(text string) []string {
	var words []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(words) == maxHintWords {
			break
		}
		if stem := Stem(w); !seen[stem] && !StopWords[w] && len(w) > 1 {
			seen[stem] = true
			words = append(words, stem)
		}
	}
	return words
}

// StopWords are words without meaning of their own in a question about data.
var StopWords = WordSet(`the a an of in on at to for and or is are was were be been do does did what which who whom whose how many
	much show list give me find all each every with without that this these those have has had by from as it its their there
	than not no name names number id per between total when where why please return tell display get any some into about us we
	our you your i my`)

var (
	// IdentifierWords are last words in names of columns that identify rows: no groups and
	// no averages.
	IdentifierWords = WordSet("id ids code no number key uuid # identifier isbn sku url link email mail phone fax address street zip postcode password hash path file image")
	// NotAveraged are last words in names of numbers without a useful average.
	NotAveraged = WordSet("year month day week hour quarter decade date rank position version latitude longitude index")
)

// IsQuantity reports whether numbers of a name with these words, in lower case, are
// quantities, whose thousands are written apart. Others identify rows, or are years and the like.
func IsQuantity(words []string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return !IdentifierWords[last] && !NotAveraged[last]
}

// WordSet returns the set of the words in a text, separated by blanks.
func WordSet(words string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(words) {
		all[w] = true
	}
	return all
}

var irregularStems = map[string]string{
	"men": "man", "women": "woman", "children": "child", "people": "person", "persons": "person", "feet": "foot",
	"mice": "mouse", "wives": "wife", "lives": "life", "leaves": "leaf", "movies": "movi", "movie": "movi",
	"sold": "sell", "bought": "buy", "spent": "spend", "paid": "pay", "went": "go", "made": "make", "held": "hold",
	"won": "win", "ran": "run", "wrote": "write", "written": "write", "taught": "teach", "born": "birth", "died": "death",
}

// Stem removes the ending of a folded word, for comparing words.
func Stem(w string) string {
	w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'")
	if s, ok := irregularStems[w]; ok {
		return s
	}
	n := len(w)
	if n > 3 {
		switch {
		case strings.HasSuffix(w, "ies") && n > 4:
			w = w[:n-3] + "y"
		case hasAnySuffix(w, "sses", "ches", "shes", "xes"):
			w = w[:n-2]
		case strings.HasSuffix(w, "s") && !hasAnySuffix(w, "ss", "us", "is"):
			w = w[:n-1]
		}
	}
	if len(w) > 5 {
		switch {
		case strings.HasSuffix(w, "ing"):
			w = w[:len(w)-3]
		case strings.HasSuffix(w, "ed"):
			w = w[:len(w)-2]
		}
	}
	if len(w) > 4 && strings.HasSuffix(w, "e") {
		w = w[:len(w)-1]
	}
	return w
}

func hasAnySuffix(w string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(w, s) {
			return true
		}
	}
	return false
}

// Stems returns the stem of each word.
func Stems(words []string) []string {
	stems := make([]string, len(words))
	for i, w := range words {
		stems[i] = Stem(w)
	}
	return stems
}
