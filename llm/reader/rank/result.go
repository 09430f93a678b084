package rank

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ResultOf computes a result whose key is independent of the order of rows and columns.
// Cells are nil, json.Number, or a type with a unique printed form.
func ResultOf(rows [][]any) Result {
	result := Result{Rows: len(rows), Empty: true, zero: len(rows) == 1}
	texts := make([][]string, len(rows))
	for i, row := range rows {
		texts[i] = make([]string, len(row))
		for j, cell := range row {
			texts[i][j] = cellText(cell)
			result.Empty = result.Empty && cell == nil
			result.zero = result.zero && (cell == nil || texts[i][j] == "0")
		}
	}
	lines := make([]string, len(rows))
	order := columnOrder(texts)
	for i, row := range texts {
		var line strings.Builder
		for _, j := range order {
			line.WriteString(row[j])
			line.WriteByte('\n')
		}
		lines[i] = line.String()
	}
	slices.Sort(lines)
	hash := sha256.New()
	for i, line := range lines {
		_, _ = hash.Write([]byte(line + "\n"))
		result.Repeated = result.Repeated || i > 0 && line == lines[i-1]
	}
	result.Key = string(hash.Sum(nil))
	return result
}

// columnOrder sorts columns by their values.
func columnOrder(rows [][]string) []int {
	if len(rows) == 0 {
		return nil
	}
	order := make([]int, len(rows[0]))
	values := make([]string, len(order))
	for j := range order {
		order[j] = j
		column := make([]string, len(rows))
		for i, row := range rows {
			column[i] = row[j]
		}
		slices.Sort(column)
		values[j] = strings.Join(column, "\n")
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// significantDigits is how many digits of a number count: sums differ in the last ones by the
// order of their terms.
const significantDigits = 12

// cellText returns a cell as text that is the same for the same value.
func cellText(cell any) string {
	number, ok := cell.(json.Number)
	if !ok {
		return strconv.Quote(fmt.Sprint(cell))
	}
	text := string(number)
	if n, err := number.Float64(); err == nil && (len(text) <= significantDigits || strings.ContainsAny(text, ".eE")) {
		return strconv.FormatFloat(n, 'g', significantDigits, 64)
	}
	return text
}
