package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/internal/jsonscan"
	"parley/internal/jsontext"
)

const (
	// internalKey is the prefix of the keys of a row that are not data.
	internalKey = "__"
	// scoreKey is the one that has the score.
	scoreKey = internalKey + "metadata"
)

// Result is a result of a query.
type Result struct {
	// Rows are JSON objects. They can be read more than once.
	Rows iter.Seq2[json.RawMessage, error]
	// Columns are the names of the columns of a result without rows.
	Columns []string
	// Internal keeps the keys of rows that are not data.
	Internal bool
}

// List returns rows that are in memory.
func List(rows []json.RawMessage) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Rows returns the table of rows that are in memory; see [Result.Table].
func Rows(rows []json.RawMessage, names []string) (Table, error) {
	return Result{Rows: List(rows), Columns: names}.Table()
}

// Table returns a table of the rows. A row that is not a JSON object is an error.
func (r Result) Table() (Table, error) {
	l, err := r.layout()
	l.rounded = true
	t := Table{Columns: l.columns}
	if err != nil {
		return t, err
	}
	for row, err := range r.Rows {
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, l.cells(row))
	}
	return t, nil
}

// layout says in which column of a table a key of a row is.
type layout struct {
	columns []Column
	at      map[string]int
	// score is the column of the scores; -1 without one.
	score    int
	internal bool
	// rounded says that numbers are shown without the digits by which sums of doubles are inexact.
	rounded bool
}

// layout reads the rows for their columns, in the order of their first appearance: numbers on
// the right, and a score if the rows match only in part.
func (r Result) layout() (layout, error) {
	l := layout{at: map[string]int{}, score: -1, internal: r.Internal}
	ranked, count := false, 0
	for row, err := range r.Rows {
		if err != nil {
			return l, err
		}
		count++
		if row = bytes.TrimSpace(row); !json.Valid(row) || row[0] != '{' {
			return l, fmt.Errorf("row %d is no JSON object", count)
		}
		for key, value := range jsonscan.Members(row) {
			name := string(key)
			if name == scoreKey {
				_, whole := scoreOf(value)
				ranked = ranked || !whole
			}
			if strings.HasPrefix(name, internalKey) && !l.internal {
				continue
			}
			at, known := l.at[name]
			if !known {
				at, l.at[name] = len(l.columns), len(l.columns)
				l.columns = append(l.columns, Column{Name: name, Right: true})
			}
			l.columns[at].Right = l.columns[at].Right && (isNumber(value) || isNull(value))
		}
	}
	if count == 0 {
		for _, name := range r.Columns {
			l.columns = append(l.columns, Column{Name: name})
		}
	}
	if ranked {
		name := "score"
		if _, taken := l.at[name]; taken {
			name = internalKey + name
		}
		l.score = len(l.columns)
		l.columns = append(l.columns, Column{Name: name, Right: true})
	}
	return l, nil
}

// cells returns a row with a cell for each column.
func (l layout) cells(row json.RawMessage) []string {
	cells := slices.Repeat([]string{None}, len(l.columns))
	if l.score >= 0 {
		cells[l.score] = ""
	}
	for key, value := range jsonscan.Members(row) {
		if string(key) == scoreKey && l.score >= 0 {
			cells[l.score], _ = scoreOf(value)
		}
		if at, known := l.at[string(key)]; known {
			cells[at] = cellOf(value)
			if l.rounded && value[0] != '"' && isNumber(value) {
				cells[at] = roundedNumber(cells[at])
			}
		}
	}
	return cells
}

// roundedNumber returns a number with 13 digits at most: sums of doubles are inexact beyond.
func roundedNumber(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if short := strconv.FormatFloat(n, 'g', 13, 64); err == nil && strings.Contains(text, ".") && len(short) < len(text) && !strings.Contains(short, "e") {
		return short
	}
	return text
}

// withoutInternal returns a row without the keys that are not data.
func withoutInternal(row json.RawMessage) (json.RawMessage, error) {
	if row = bytes.TrimSpace(row); !json.Valid(row) || row[0] != '{' {
		return nil, errors.New("a row is no JSON object")
	}
	data := []byte{'{'}
	for key, value := range jsonscan.Members(row) {
		if bytes.HasPrefix(key, []byte(internalKey)) {
			continue
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		name, err := jsontext.Marshal(string(key))
		if err != nil {
			return nil, err
		}
		data = append(append(append(data, name...), ':'), value...)
	}
	return append(data, '}'), nil
}

func scoreOf(metadata json.RawMessage) (text string, whole bool) {
	var m struct{ Score *float64 }
	if json.Unmarshal(metadata, &m) != nil || m.Score == nil {
		return "", true
	}
	return strconv.FormatFloat(*m.Score, 'f', 2, 64), *m.Score >= 1
}

// numeral is a number in a string, because JSON cannot hold it exactly.
var numeral = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]+)?|Infinity)$|^NaN$`)

// isNumber reports whether a value is a number, or a numeral.
func isNumber(value json.RawMessage) bool {
	if value[0] == '"' {
		return numeral.Match(jsonscan.Unquote(value))
	}
	return strings.IndexByte("-0123456789", value[0]) >= 0
}

func isNull(value json.RawMessage) bool { return value[0] == 'n' }

// cellOf formats a value: strings without quotes, lists and objects as JSON.
func cellOf(value json.RawMessage) string {
	switch value[0] {
	case 'n':
		return None
	case '"':
		return string(jsonscan.Unquote(value))
	case '[', '{':
		var compact bytes.Buffer
		if json.Compact(&compact, value) == nil {
			return compact.String()
		}
	}
	return string(value)
}
