package rank

import (
	"regexp"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

var (
	// figureCues are words before a column whose figures are asked for.
	figureCues = catalog.WordSet("average averages avg mean median sum total maximum minimum max min highest lowest")
	// extremeCues are those of them that are also said of things: the highest mountain.
	extremeCues = catalog.WordSet("maximum minimum max min highest lowest")
)

// unreadable returns the column of which a question asks for a figure, or a reading computes
// one, and whose texts have none, or cannot be converted; -1 for none.
func (q *Question) unreadable(r *Reading) int {
	if c := q.textMeasure(r); c >= 0 {
		return c
	}
	for _, n := range ir.Doubted(r.Query, q.Catalog, q.Now) {
		if !q.decides(&q.Catalog.Columns[n]) {
			return n
		}
	}
	return -1
}

var thousands = regexp.MustCompile(`^\d{1,3}(,\d{3})+$`)

// decides reports whether a question writes a number in the form of the texts of a column, which
// says that the commas separate thousands: over 40,000.
func (q *Question) decides(c *catalog.Column) bool {
	return c.Doubt == catalog.EitherDecimal && !slices.ContainsFunc(c.Doubtful, func(v string) bool { return !strings.Contains(v, ",") }) &&
		slices.ContainsFunc(q.Tokens, func(t link.Token) bool { return thousands.MatchString(t.Text) })
}

// textMeasure returns the column of texts of which a question asks for a figure: rating of "the
// average rating". It returns -1 for none.
func (q *Question) textMeasure(r *Reading) int {
	for i, t := range q.Tokens {
		if !figureCues[t.Lower] {
			continue
		}
		head := q.measureAfter(i)
		c := q.textNamed(head)
		switch {
		case c < 0:
		case t.Lower == "total" && q.Tokens[head].Lower != lastWord(&q.Catalog.Columns[c]): // total customers are a count
		case extremeCues[t.Lower] && q.computesNamed(r):
		default:
			return c
		}
	}
	return q.sortedText(r)
}

// sortedText returns the column of texts whose first or last in the alphabet is a reading of
// "best" or "strongest"; -1 for none.
func (q *Question) sortedText(r *Reading) int {
	isExtreme := func(t link.Token) bool {
		return operationOf(t.Lower) == "extreme" || isSuperlative(t.Lower, keywordsOf(r.Tokens))
	}
	if !slices.ContainsFunc(q.Tokens, isExtreme) || q.asks("first", "last", "top", "bottom", "alphabetical", "alphabetically", "alphabet") {
		return -1
	}
	isText := func(e ir.Expr) bool {
		return e.Op == "" && e.Column >= 0 && q.Catalog.Columns[e.Column].Kind == catalog.Text
	}
	for _, e := range r.Query.Items {
		if e.Kind == "agg" && (e.Func == "min" || e.Func == "max") && isText(e) {
			return e.Column
		}
	}
	if r.Query.Limit > 0 && len(r.Query.Order) > 0 && r.Query.Order[0].By.Kind == "column" && isText(r.Query.Order[0].By) {
		return r.Query.Order[0].By.Column
	}
	return -1
}

// measureAfter returns the word that says what is computed, after a cue: rating of "average film
// rating" and of "average rating of films". It returns -1 for none.
func (q *Question) measureAfter(cue int) int {
	phrase := q.phraseAfter(cue)
	if len(phrase) == 0 {
		return -1
	}
	for i := cue + 1; i < phrase[0]; i++ {
		if generalMeasures[q.Tokens[i].Lower] {
			return i
		}
	}
	return phrase[len(phrase)-1]
}

func lastWord(c *catalog.Column) string { return c.Words[len(c.Words)-1] }

// textNamed returns the column of texts that a word names as the end of its name. It returns -1
// if there is none, or if the word is a value, or the name of a table or another column.
func (q *Question) textNamed(word int) int {
	named := -1
	if word < 0 {
		return named
	}
	for item := range q.Input.Items {
		t, ok := q.Input.Token(item)
		if bits := q.relations(word, item); !ok || bits&namingRelations == 0 {
			continue
		}
		if t.Class != ir.ColumnRef {
			return -1
		}
		c := &q.Catalog.Columns[t.N]
		switch {
		case catalog.Stem(lastWord(c)) != q.Tokens[word].Stem:
		case c.Kind != catalog.Text:
			return -1
		case named < 0:
			named = t.N
		}
	}
	return named
}

// computesNamed reports whether a reading computes or sorts by a column that is no text and that
// a word names, or a similar one.
func (q *Question) computesNamed(r *Reading) bool {
	measures := func(e ir.Expr) bool {
		return e.Column >= 0 && e.Func != "count" && q.Catalog.Columns[e.Column].Kind != catalog.Text && q.isMentioned(e.Column)
	}
	return slices.ContainsFunc(r.Query.Items, func(e ir.Expr) bool { return e.Kind == "agg" && measures(e) }) ||
		slices.ContainsFunc(r.Query.Order, func(s ir.Sort) bool { return measures(s.By) })
}

// isMentioned reports whether a word names a column, or is similar to a word of its name.
func (q *Question) isMentioned(column int) bool {
	item := q.Input.ItemOf(ir.Token{Class: ir.ColumnRef, N: column})
	for word := range q.Input.Question {
		if item >= 0 && q.relations(word, item)&(namingRelations|similarRelations) != 0 {
			return true
		}
	}
	return false
}

// isNamed reports whether a word is related to a column, or a value of the query is in it.
func (q *Question) isNamed(column int, tokens []ir.Token) bool {
	if q.Catalog.Columns[column].IsBirth() && q.asks(aboutBirth...) {
		return true
	}
	item, n := q.Input.ItemOf(ir.Token{Class: ir.ColumnRef, N: column}), len(q.Input.Items)
	by := uint64(namingRelations | similarRelations | weakRelations)
	if q.Catalog.Columns[column].IsBoolean() {
		by = namingRelations | 1<<link.Prefix
	}
	for word := range q.Input.Question {
		if item >= 0 && q.Input.Relations[word*n+item]&by != 0 {
			return true
		}
	}
	for _, t := range tokens {
		if t.Class == ir.ValueRef && len(q.Input.Values[t.N].Cells[column]) > 0 && q.Input.Values[t.N].How != link.Suggested {
			return true
		}
	}
	return false
}
