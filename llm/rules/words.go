package rules

import (
	"strings"
	"unicode"
)

// irregular are plurals, and spellings, that no rule makes singular.
var irregular = map[string]string{
	"men": "man", "women": "woman", "children": "child", "people": "person", "persons": "person",
	"feet": "foot", "teeth": "tooth", "mice": "mouse", "data": "data", "media": "media",
	"series": "series", "species": "species", "is": "is", "was": "was", "has": "has", "does": "does",
	"this": "this", "its": "its", "his": "his", "us": "us", "as": "as", "bus": "bus", "gas": "gas",
	"plus": "plus", "status": "status", "census": "census", "bonus": "bonus", "always": "always",
	"less": "less", "yes": "yes", "les": "les", "los": "los", "las": "las", "des": "des", "ms": "ms", "mrs": "mrs", "movies": "movie", "ties": "tie", "dies": "die", "lies": "lie", "pies": "pie",
	"calories": "calorie", "cookies": "cookie", "zombies": "zombie", "shoes": "shoe", "wolves": "wolf",
	"lives": "life", "wives": "wife", "knives": "knife", "halves": "half", "leaves": "leaf",
	"indices": "index", "matrices": "matrix", "criteria": "criterion", "analyses": "analysis",
	"houses": "house", "horses": "horse", "courses": "course", "releases": "release", "purchases": "purchase",
	"expenses": "expense", "licenses": "license", "databases": "database", "nurses": "nurse", "cases": "case",
	"phases": "phase", "uses": "use", "causes": "cause", "clauses": "clause", "leases": "lease", "bases": "base",
	"increases": "increase", "decreases": "decrease", "responses": "response", "universes": "universe",
	"caches": "cache", "headaches": "headache", "colour": "color", "colours": "color", "centre": "center",
	"centres": "center", "theatre": "theater", "theatres": "theater", "favourite": "favorite", "metre": "meter",
	"metres": "meter", "kilometres": "kilometer", "litres": "liter", "programme": "program", "programmes": "program",
}

// lemma is the singular of a folded word, near enough to compare words with.
func lemma(w string) string {
	if l, ok := irregular[w]; ok {
		return l
	}
	n := len(w)
	switch {
	case n <= 2 || !strings.HasSuffix(w, "s") || w[n-2] == 's':
		return w
	case strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"),
		strings.HasSuffix(w, "zes"):
		return w[:n-2]
	}
	return w[:n-1]
}

// exactWords are words of quantity, which no other word stands for.
var exactWords = set("number amount count total average id")

// alike says how near two lemmas are: 1 when they are the same word, 0 when they
// have nothing to do with each other.
func alike(asked, named string) float64 {
	switch {
	case asked == named:
		return 1
	case shortForms[named] == asked || shortForms[asked] == named || shortForms[asked] != "" && shortForms[asked] == shortForms[named]:
		return 0.95
	case exactWords[asked] || exactWords[named]:
		return 0
	case synonyms[asked][named]:
		return 0.8
	case synonyms[verbStem(asked)][named]:
		return 0.7
	}
	short, long := asked, named
	if len(short) > len(long) {
		short, long = long, short
	}
	common := 0
	for common < len(short) && short[common] == long[common] {
		common++
	}
	switch {
	case common >= 4 && common*10 >= len(long)*6 && endings[short[common:]] && endings[long[common:]]:
		return 0.75
	case len(named) >= 4 && common == len(named) && len(asked) > len(named):
		return 0.7
	case len(short) >= 6 && len(long)-len(short) <= 1 && oneEdit(short, long):
		return 0.7
	}
	return 0
}

// endings are what words of one family may end in after what they share.
var endings = set("e y ion ed ing er or s al ment ity ly ive ation t ial ian ate es able ence ent ance ant ship ness ies d r")

func init() { endings[""] = true }

// verbStem takes the ending of a verb off.
func verbStem(w string) string {
	for _, suffix := range []string{"ing", "ed"} {
		if stem, ok := strings.CutSuffix(w, suffix); ok && len(stem) >= 3 {
			return stem
		}
	}
	return w
}

// oneEdit reports whether one changed, added, or swapped letter makes a of b, or
// the other way round; a is not longer than b.
func oneEdit(a, b string) bool {
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i >= len(a)-1 {
		return true
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// stopWords carry no meaning of their own here.
var stopWords = set(`a an the of in on at to for from by with and or is are was were be been being do does did has have had
	what which who whom whose where when how why that this these those there their they them it its he she his her him hers
	we us our i me my you your all any some every each as than then so if but not no nor only just also give show list find
	return tell please display get name out up down into over under about between among during per can could would will shall
	should may might must many much more most less least few fewer other another one ones such same own both either neither
	total number amount count many s t 's many listed table chart according data database dataset record information exist
	ever made make having come came go goes went appear appears shown shows mentioned given included along together well
	respectively corresponding correspond corresponds belong belongs located associated using use used uses via whether
	here we've i'd what's who's`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// nameWords cuts a name of a table or column into lemmas: at blanks, marks,
// underscores, and where lower case turns to upper.
func nameWords(name string) []string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])) {
			b.WriteByte(' ')
		}
		if r == '_' {
			r = ' '
		}
		b.WriteRune(r)
	}
	var words []string
	for _, t := range tokenize(b.String()) {
		if t.mark {
			switch t.lower {
			case "%":
				words = append(words, "percentage")
			case "#":
				words = append(words, "number")
			case "$", "£", "€":
				words = append(words, "money")
			}
			continue
		}
		words = append(words, t.lemma)
	}
	return spellOut(words)
}

// spellOut writes out what names of columns run together.
func spellOut(words []string) []string {
	var all []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if (w == "f" || w == "l") && i+1 < len(words) && words[i+1] == "name" {
			w += "name"
			i++
		}
		switch w {
		case "fname", "firstname", "forename":
			all = append(all, "first", "name")
		case "lname", "lastname", "surname":
			all = append(all, "last", "name")
		default:
			all = append(all, w)
		}
	}
	return all
}
