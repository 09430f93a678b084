package ingest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest/source"
)

// evolve returns the columns of a dataset with the tables added to it: its own in
// their order and spelling, then the new ones. A column of different types gets
// one that holds both, or the table is refused.
func evolve(have []domain.Column, tables []*table) ([]domain.Column, error) {
	columns := slices.Clone(have)
	index := map[string]int{}
	for i, c := range columns {
		index[domain.FoldColumn(c.Name)] = i
	}
	for _, t := range tables {
		for _, c := range t.columns {
			i, known := index[domain.FoldColumn(c.Name)]
			if !known {
				index[domain.FoldColumn(c.Name)] = len(columns)
				columns = append(columns, c)
				continue
			}
			both, ok := unite(columns[i].Type, c.Type)
			if !ok {
				return nil, refuse("%s: column %s holds %s so far and %s here; no type fits both without loss; put it into another dataset",
					t.name, quote(columns[i].Name), describe(columns[i].Type), describe(c.Type))
			}
			columns[i].Type = both
		}
	}
	for i := range columns {
		if columns[i].Type == typeEmptyList {
			columns[i].Type = typeJSON
		}
	}
	if len(columns) > domain.MaxColumns {
		return nil, refuse("the dataset would have %d columns; the limit is %d", len(columns), domain.MaxColumns)
	}
	return columns, nil
}

// retyped says which columns of a dataset get another type: they come first in columns.
func retyped(have, columns []domain.Column) (warnings []domain.IngestWarning) {
	for i, before := range have {
		if now := columns[i].Type; before.Type != now && before.Type != typeNull && before.Type != typeEmptyList {
			warnings = append(warnings, domain.IngestWarning{Column: before.Name, Message: fmt.Sprintf("the column is %s from now on, in all rows; it was %s", domain.TypeWord(now), domain.TypeWord(before.Type))})
		}
	}
	return warnings
}

// unite returns the narrowest type that holds the values of old, which may be in
// files already, and of new. Readers can cast from old to it, the writer from
// new. It is not ok when one of them would lose something.
func unite(old, new string) (string, bool) {
	switch {
	case old == new, new == typeNull:
		return old, true
	case old == typeNull:
		return new, true
	case new == typeEmptyList && isList(old):
		return old, true
	case old == typeEmptyList && isList(new):
		return new, true
	case isNumber(old) && isNumber(new):
		return uniteNumbers(old, new), true
	case old == typeDate && new == typeTimestamp, old == typeTimestamp && new == typeDate:
		return typeTimestamp, true
	case isScalarList(old) && isScalarList(new):
		element, ok := unite(strings.TrimSuffix(old, "[]"), strings.TrimSuffix(new, "[]"))
		return element + "[]", ok
	case (old == typeJSON || old == typeEmptyList) && (new == typeJSON || new == typeEmptyList || isNested(new)):
		return typeJSON, true
	case isText(old) && (isText(new) || isNested(new) || new == typeEmptyList):
		return typeVarchar, true
	case old == typeEmptyList && isText(new):
		return typeVarchar, true
	}
	return "", false
}

// uniteNumbers leaves decimals exact where 38 digits are enough. Whole numbers
// and doubles become doubles.
func uniteNumbers(old, new string) string {
	if old == typeDouble || new == typeDouble {
		other := old
		if other == typeDouble {
			other = new
		}
		if precision, _, ok := decimal(other); ok && precision > 15 {
			return typeVarchar
		}
		return typeDouble
	}
	p1, s1, _ := decimal(old)
	p2, s2, _ := decimal(new)
	scale := max(s1, s2)
	precision := max(p1-s1, p2-s2) + scale
	if precision > 38 {
		return typeVarchar
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", precision, scale)
}

var decimalPattern = regexp.MustCompile(`^DECIMAL\((\d+),(\d+)\)$`)

// decimal returns the digits of a decimal type; BIGINT counts as one of 19.
func decimal(typ string) (precision, scale int, ok bool) {
	if typ == typeBigint {
		return 19, 0, false
	}
	m := decimalPattern.FindStringSubmatch(typ)
	if m == nil {
		return 0, 0, false
	}
	precision, _ = strconv.Atoi(m[1])
	scale, _ = strconv.Atoi(m[2])
	return precision, scale, true
}

func isNumber(typ string) bool {
	return typ == typeBigint || typ == typeDouble || decimalPattern.MatchString(typ)
}

// isText reports whether text holds a type's values without loss.
func isText(typ string) bool {
	switch typ {
	case typeVarchar, typeBoolean, typeDate, typeTime, typeTimestamp, typeTimestampNS, typeInstant, typeJSON:
		return true
	}
	return isNumber(typ)
}

func isList(typ string) bool { return strings.HasSuffix(typ, "[]") && typ != typeEmptyList }

func isScalarList(typ string) bool {
	return isList(typ) && isText(strings.TrimSuffix(typ, "[]"))
}

func isNested(typ string) bool {
	return strings.HasSuffix(typ, "]") && typ != typeEmptyList || strings.HasPrefix(typ, "STRUCT(") || strings.HasPrefix(typ, "MAP(")
}

// describe names the values of a type for a message.
func describe(typ string) string {
	switch {
	case typ == typeBlob:
		return "binary data"
	case isList(typ) || typ == typeEmptyList:
		return "lists"
	case isNested(typ) || typ == typeJSON:
		return "nested values"
	case isNumber(typ):
		return "numbers"
	case typ == typeBoolean:
		return "true and false"
	case typ == typeDate, typ == typeTime, typ == typeTimestamp, typ == typeTimestampNS, typ == typeInstant:
		return "dates or times"
	}
	return "text"
}

// physical returns the type that a column's values have in a file.
func physical(typ string) string {
	if typ == typeJSON || typ == typeNull {
		return typeVarchar
	}
	return typ
}

// convert returns the SQL that casts an expression to the physical form of a type
// that unite gave.
func convert(expr, from, to string) string {
	switch {
	case physical(from) == physical(to):
		return expr
	case isNested(from) && physical(to) == typeVarchar:
		return fmt.Sprintf("CAST(to_json(%s) AS VARCHAR)", expr)
	}
	return fmt.Sprintf("CAST(%s AS %s)", expr, physical(to))
}

// number returns the SQL for values of a column as numbers, NULL where they are not finite.
func number(c domain.ColumnProfile, x string) string {
	switch domain.KindOf(c.Type) {
	case domain.KindNumber:
		if c.Type == typeDouble || c.Type == "FLOAT" {
			return fmt.Sprintf("CASE WHEN isfinite(%s) THEN CAST(%s AS DOUBLE) END", x, x)
		}
		return fmt.Sprintf("CAST(%s AS DOUBLE)", x)
	case domain.KindTime:
		return fmt.Sprintf("CASE WHEN isfinite(TRY_CAST(%s AS TIMESTAMP)) THEN epoch(TRY_CAST(%s AS TIMESTAMP)) END", x, x)
	}
	return "CAST(NULL AS DOUBLE)"
}

// hash returns the SQL for the hash of a column's values. Numbers of different types that are
// equal have one.
func hash(c domain.ColumnProfile) string {
	if domain.KindOf(c.Type) == domain.KindNumber {
		return fmt.Sprintf("hash(CAST(%s AS DOUBLE))", sqltext.Name(c.Name))
	}
	return fmt.Sprintf("hash(%s)", sqltext.Name(c.Name))
}

// sketch returns the SQL for a column's sketch: of each hash of the sample, the bit of its group
// and rank.
func sketch(c domain.ColumnProfile) string {
	h := hash(c)
	// The trailing zeros of v are the ones in v xor (v-1), less one.
	v := fmt.Sprintf("((%s >> 13) | 2147483648::UBIGINT)", h)
	return fmt.Sprintf("CAST(bitstring_agg(CASE WHEN %s & %d = 0 THEN CAST((%s >> 5) & 255 AS INTEGER) * 32 + CAST(bit_count(xor(%s, %s - 1::UBIGINT)) AS INTEGER) - 1 END, 0, %d) AS VARCHAR)",
		h, domain.SketchSample-1, h, v, v, domain.SketchSize*domain.MaxRank-1)
}

// inMetadata reports whether files have the count and the bounds of a column in their metadata.
func inMetadata(c domain.ColumnProfile) bool {
	kind := domain.KindOf(c.Type)
	return kind == domain.KindNumber || kind == domain.KindTime || c.Type == typeBoolean
}

// lastOf returns the greatest value of a bin: DuckDB's bins have it. The last bin has no end, as
// bounds of large numbers are rounded.
func lastOf(typ string, h *domain.Histogram, bin int) float64 {
	if bin == len(h.Counts)-1 {
		return math.Inf(1)
	}
	_, next := h.Bin(bin)
	if step := domain.BinStep(typ); step > 0 {
		return max(next-step, h.From)
	}
	return math.Nextafter(next, h.From)
}

// AlikeTexts warns of texts that are different groups, and the same to filters.
func AlikeTexts(p domain.Profile) (warnings []domain.IngestWarning) {
	for _, c := range p.Columns {
		if c.Alike > 0 {
			warnings = append(warnings, domain.IngestWarning{Column: c.Name, Message: source.Count(int(c.Alike), "value") + " different from others only in case or blanks: groups count them apart, filters do not"})
		}
	}
	return warnings
}
