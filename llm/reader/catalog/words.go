package catalog

import (
	"slices"
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

// DisplayName converts an identifier to words: order_date and orderDate become order date.
func DisplayName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsSpace(r) || r == '_' || unicode.IsControl(r) {
			b.WriteByte(' ')
			continue
		}
		camel := i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1])
		if camel {
			b.WriteByte(' ')
			if i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
				r = unicode.ToLower(r)
			}
		}
		b.WriteRune(r)
	}
	if text := strings.Join(strings.Fields(b.String()), " "); text != "" {
		return text
	}
	return name
}

// Plural puts the last word of a name into the plural, unless it is plural already or
// the number or month of a part.
func Plural(name string) string {
	lower := strings.ToLower(name)
	end := func(suffixes ...string) bool { return hasAnySuffix(lower, suffixes...) }
	switch stem, part := SplitPart(name); {
	case stem != nil && strings.HasSuffix(lower, part[len(part)-1]):
		return name // orders 2023
	case end("ay", "ey", "oy", "uy"):
		return name + "s"
	case end("y"):
		return name[:len(name)-1] + "ies"
	case end("us", "ss", "x", "ch", "sh"):
		return name + "es"
	case lower == "", end("s", "people", "children", "men", "data", "staff", ")", "%"):
		return name
	}
	return name + "s"
}

// partWords are words by which the name of a part of a dataset differs from the names of
// other parts, beside numbers.
var partWords = WordSet(`january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
	part page sheet week month quarter year q h w v`)

func isPartWord(word string) bool {
	return partWords[word] || word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// SplitPart splits the words of a name into those of the whole and those of the part, which
// are at the end or at the start: orders and 2023. stem is nil for the name of no part.
func SplitPart(name string) (stem, part []string) {
	words := NameWords(name)
	end := len(words)
	for end > 0 && isPartWord(words[end-1]) {
		end--
	}
	start := 0
	for end == len(words) && start < end && isPartWord(words[start]) {
		start++
	}
	if start == end || start == 0 && end == len(words) {
		return nil, nil
	}
	return words[start:end], append(slices.Clip(words[:start]), words[end:]...)
}

// SignNames returns the names of tables and columns with a digit or a sign, by their
// [Letters]; true for those with a digit.
func (c *Catalog) SignNames() map[string]bool { return c.signNames }

// findSignNames sets what SignNames returns.
func (c *Catalog) findSignNames() {
	c.signNames = map[string]bool{}
	add := func(name string) {
		switch letters := Letters(name); {
		case letters == "":
		case strings.ContainsFunc(letters, unicode.IsDigit):
			c.signNames[letters] = true
		case strings.ContainsFunc(name, isSign):
			c.signNames[letters] = false
		}
	}
	for i := range c.Tables {
		add(c.Tables[i].Name)
	}
	for i := range c.Columns {
		add(c.Columns[i].Name)
	}
}

func isSign(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '_' && r != ' ' }

// Letters returns the letters and digits of a text, folded.
func Letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, Fold(text))
}
