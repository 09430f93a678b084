package rank

import (
	"slices"
	"strconv"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// missingWords ask whether a value is known, rather than for how much it is.
var missingWords = []string{"missing", "unknown", "known", "null", "empty", "blank", "unspecified", "specified", "recorded", "value", "values", "data", "information", "zero", "0"}

// withZero lets 0 count as none in a query, as a missing number does: no fine is a fine of 0 or
// a missing one.
func (q *Question) withZero(tokens []ir.Token) []ir.Token {
	if q.asks(missingWords...) {
		return tokens
	}
	none := q.asks("no", "without")
	var all []ir.Token
	for i := 0; i < len(tokens); i++ {
		all = append(all, tokens[i])
		if tokens[i].Class != ir.ColumnRef || i+1 == len(tokens) || !q.hasZero(tokens[i].N) {
			continue
		}
		isZero := i+2 < len(tokens) && tokens[i+1].Is("=") && tokens[i+2].Is("k0")
		switch next := tokens[i+1]; {
		case none && (next.Is("isnull") || isZero):
			all = append(all, q.noneOf(tokens[i])...)
			i++
			if isZero {
				i++
			}
		case next.Is("notnull"):
			all = append(all, ir.KeywordToken("!="), ir.KeywordToken("k0"))
			i++
		}
	}
	return all
}

// noneOf returns what follows a column for the condition that it is 0 or missing.
func (q *Question) noneOf(column ir.Token) []ir.Token {
	isZero := []ir.Token{ir.KeywordToken("="), ir.KeywordToken("k0")}
	c := &q.Catalog.Columns[column.N]
	if c.Filled >= q.Catalog.Tables[c.Table].Rows {
		return isZero
	}
	return append([]ir.Token{ir.KeywordToken("isnull"), ir.KeywordToken("or"), column}, isZero...)
}

// hasZero reports whether 0 is the least number of a column. Beside negative numbers, 0 is a
// number as any other: a temperature.
func (q *Question) hasZero(column int) bool {
	c := &q.Catalog.Columns[column]
	least, err := strconv.ParseFloat(c.Least, 64)
	return c.Kind == catalog.Number && err == nil && least == 0 && !c.IsBoolean() && !q.Catalog.IsReference(column)
}

// countsUnasked reports whether a query compares a number with 1 that the question does not have:
// the network reads "a" as 1.
func (q *Question) countsUnasked(tokens []ir.Token) bool {
	for i, t := range tokens {
		if i > 1 && t.Is("k1") && tokens[i-1].Is("=") && tokens[i-2].Class == ir.ColumnRef && !q.asks("1", "one", "once", "single", "first", "only") {
			c := &q.Catalog.Columns[tokens[i-2].N]
			return c.Kind == catalog.Number && !c.IsBoolean() && !slices.Contains(c.Values, "1")
		}
	}
	return false
}
