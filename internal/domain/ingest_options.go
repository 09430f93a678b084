package domain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// IngestOptions say how files are read. What is zero is detected.
type IngestOptions struct {
	// Encoding is "utf-8", "utf-16" or "windows-1252".
	Encoding string `json:"encoding,omitempty"`
	// Delimiter is the character between fields.
	Delimiter string `json:"delimiter,omitempty"`
	// HeaderRow is the number of the row that names the columns, from 1; 0 says that
	// there is none.
	HeaderRow *int `json:"headerRow,omitempty"`
	// Sheet is the table to read in a file of several, such as a sheet of a workbook.
	Sheet string `json:"sheet,omitempty"`
	// NullValues are spellings of a missing value, besides the usual ones.
	NullValues []string `json:"nullValues,omitempty"`
	// Types are the types of columns, by name.
	Types map[string]string `json:"types,omitempty"`
	// Union allows files whose columns differ in one dataset.
	Union bool `json:"union,omitempty"`
}

// Limits of the options of an ingestion.
const (
	maxHeaderRow  = 10_000
	maxSheetName  = 256
	maxNullValues = 100
	maxNullValue  = 256
)

var ingestEncodings = []string{"utf-8", "utf-16", "windows-1252"}

// ingestTypes are the names that a column's type may be given by.
var ingestTypes = map[string]string{
	"text": "VARCHAR", "varchar": "VARCHAR",
	"integer": "BIGINT", "bigint": "BIGINT",
	"number": "DOUBLE", "double": "DOUBLE",
	"boolean": "BOOLEAN", "date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP",
	"timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
}

var decimalType = regexp.MustCompile(`^decimal\( *([0-9]{1,2}) *, *([0-9]{1,2}) *\)$`)

// dateOrders are the orders of day, month and year that may follow a type of dates.
var dateOrders = []string{"dmy", "mdy", "ymd"}

// CutDateOrder cuts the order of day, month and year off a type such as DATE:dmy.
func CutDateOrder(typ string) (bare, order string) {
	bare, order, _ = strings.Cut(typ, ":")
	return bare, order
}

// ingestType returns the type that a name stands for.
func ingestType(name string) (string, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if bare, order := CutDateOrder(name); order != "" {
		typ := ingestTypes[bare]
		return typ + ":" + order, (typ == "DATE" || typ == "TIMESTAMP") && slices.Contains(dateOrders, order)
	}
	if parts := decimalType.FindStringSubmatch(name); parts != nil {
		var precision, scale int
		_, _ = fmt.Sscan(parts[1]+" "+parts[2], &precision, &scale)
		return fmt.Sprintf("DECIMAL(%d,%d)", precision, scale), precision >= 1 && precision <= 38 && scale <= precision
	}
	typ, ok := ingestTypes[name]
	return typ, ok
}

// TypeWord returns the name of the type of a column for people: the one that options have for it.
// Without one, lists are lists of what they hold, and others are named by their type.
func TypeWord(typ string) string {
	if of, isList := strings.CutSuffix(typ, "[]"); isList {
		word := TypeWord(of)
		switch {
		case strings.HasPrefix(word, "list of"):
			word = strings.Replace(word, "list", "lists", 1)
		case word == "object" || word != "text" && ingestTypes[word] == of:
			word = strings.Replace(word+" ", " ", "s ", 1)
		}
		return "list of " + strings.TrimSuffix(word, " ")
	}
	switch typ {
	case "VARCHAR":
		return "text"
	case "BIGINT":
		return "integer"
	case "DOUBLE":
		return "number"
	}
	if strings.HasPrefix(typ, "STRUCT(") && strings.HasSuffix(typ, ")") {
		return "object"
	}
	if word := strings.ToLower(typ); knownType(word) {
		return word
	}
	return typ
}

func knownType(name string) bool {
	_, ok := ingestType(name)
	return ok
}

// Normalize returns encodings and types their usual names, and returns what is wrong with
// the options.
func (o *IngestOptions) Normalize() []FieldError {
	var wrong []FieldError
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, FieldError{field, fmt.Sprintf(format, args...)})
	}
	o.Encoding = strings.ToLower(o.Encoding)
	if o.Encoding != "" && !slices.Contains(ingestEncodings, o.Encoding) {
		refuse("encoding", "must be one of %s", strings.Join(ingestEncodings, ", "))
	}
	if o.Delimiter != "" && !isDelimiter(o.Delimiter) {
		refuse("delimiter", "must be one character that is no letter, digit, quote or line break, such as ; or a tab")
	}
	if row := o.HeaderRow; row != nil && (*row < 0 || *row > maxHeaderRow) {
		refuse("headerRow", "must be 0 to %d", maxHeaderRow)
	}
	if problem := CheckText(o.Sheet, maxSheetName); problem != "" {
		refuse("sheet", "%s", problem)
	}
	if len(o.NullValues) > maxNullValues {
		refuse("nullValues", "must have at most %d entries", maxNullValues)
		o.NullValues = nil
	}
	for i, value := range o.NullValues {
		if problem := CheckText(value, maxNullValue); problem != "" {
			refuse(fmt.Sprintf("nullValues[%d]", i), "%s", problem)
		}
	}
	return append(wrong, o.normalizeTypes()...)
}

func (o *IngestOptions) normalizeTypes() []FieldError {
	if len(o.Types) > MaxColumns {
		return []FieldError{{"types", fmt.Sprintf("must have at most %d columns", MaxColumns)}}
	}
	var wrong []FieldError
	types := make(map[string]string, len(o.Types))
	for _, column := range slices.Sorted(maps.Keys(o.Types)) {
		typ, ok := ingestType(o.Types[column])
		if problem := CheckColumnName(column); problem != "" {
			wrong = append(wrong, FieldError{"types", fmt.Sprintf("column name %.40q %s", column, problem)})
		} else if !ok {
			wrong = append(wrong, FieldError{"types." + column,
				"must be text, integer, number, decimal(digits,scale), boolean, date, time, timestamp or timestamp with time zone; date and timestamp may have an order: date:dmy, date:mdy, date:ymd"})
		}
		types[column] = typ
	}
	if len(o.Types) > 0 {
		o.Types = types
	}
	return wrong
}

func isDelimiter(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	isPlain := r == '\t' || r >= ' ' && r < 0x7f && !strings.ContainsRune(`"'`, r)
	isWord := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return size == len(text) && isPlain && !isWord
}

// Equal reports whether two options are the same.
func (o IngestOptions) Equal(other IngestOptions) bool {
	if (o.HeaderRow == nil) != (other.HeaderRow == nil) || o.HeaderRow != nil && *o.HeaderRow != *other.HeaderRow {
		return false
	}
	return o.Encoding == other.Encoding && o.Delimiter == other.Delimiter && o.Sheet == other.Sheet &&
		slices.Equal(o.NullValues, other.NullValues) && maps.Equal(o.Types, other.Types) && o.Union == other.Union
}
