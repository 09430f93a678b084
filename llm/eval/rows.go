package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/llm"
)

// tolerance is the relative difference within which numbers are equal.
const tolerance = 1e-6

// Values returns a result as rows of values, without columns whose name starts with __ and the
// measure, which was not asked for. The columns default to those of the first row.
func Values(result llm.Rows) ([][]any, error) {
	rows := make([][]any, 0, len(result.Rows))
	for _, raw := range result.Rows {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var cells map[string]any
		if err := d.Decode(&cells); err != nil {
			return nil, fmt.Errorf("read row: %w", err)
		}
		if result.Columns == nil && len(rows) == 0 {
			result.Columns = llm.ColumnsOf(raw)
		}
		row := []any{}
		for _, name := range result.Columns {
			if !strings.HasPrefix(name, "__") && name != result.Measure {
				row = append(row, cells[name])
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Matches reports whether rows are a right answer.
func (q *Question) Matches(rows [][]any) bool {
	if q.Match == MatchValues {
		return q.matchesValues(rows)
	}
	matches := func(want [][]any) bool { return sameWidth(want, rows) && q.includes(want, rows) }
	return matches(q.Answer) || slices.ContainsFunc(q.Alternatives, matches)
}

func sameWidth(a, b [][]any) bool { return len(a) == 0 || len(b) == 0 || len(a[0]) == len(b[0]) }

// Includes reports whether rows are a right answer but for further columns.
func (q *Question) Includes(rows [][]any) bool {
	return q.includes(q.Answer, rows) || slices.ContainsFunc(q.Alternatives, func(other [][]any) bool { return q.includes(other, rows) })
}

// includes reports whether some columns of rows, in some order, are equal to the wanted ones.
func (q *Question) includes(want, got [][]any) bool {
	if len(want) != len(got) {
		return false
	}
	if len(want) == 0 {
		return true
	}
	width, wide := len(want[0]), len(got[0])
	for i := range want {
		if len(want[i]) != width || len(got[i]) != wide {
			return false
		}
	}
	fits := make([][]bool, width) // which columns have the same values, in any order
	for i := range fits {
		fits[i] = make([]bool, wide)
		for j := range fits[i] {
			fits[i][j] = sameMultiset(columns(want, i), columns(got, j))
		}
	}
	var permutation []int
	tries := 0
	var search func() bool
	search = func() bool {
		i := len(permutation)
		if i == width {
			tries++
			return q.equal(want, columns(got, permutation...))
		}
		for j := range wide {
			if !fits[i][j] || slices.Contains(permutation, j) || tries > maxTries {
				continue
			}
			permutation = append(permutation, j)
			if search() {
				return true
			}
			permutation = permutation[:i]
		}
		return false
	}
	return search()
}

// maxTries limits the search over columns that are alike.
const maxTries = 5_000

func columns(rows [][]any, indexes ...int) [][]any {
	result := make([][]any, len(rows))
	for i, row := range rows {
		for _, index := range indexes {
			result[i] = append(result[i], row[index])
		}
	}
	return result
}

// equal compares rows whose columns are in the same order.
func (q *Question) equal(want, got [][]any) bool {
	if !q.Ordered {
		return sameMultiset(want, got)
	}
	sizes := q.Blocks
	total := 0
	for _, size := range sizes {
		total += size
	}
	if total != len(got) {
		sizes = slices.Repeat([]int{1}, len(got))
	}
	start := 0
	for _, size := range sizes {
		if !sameMultiset(want[start:start+size], got[start:start+size]) {
			return false
		}
		start += size
	}
	return true
}

func sameMultiset(want, got [][]any) bool {
	used := make([]bool, len(got))
next:
	for i, w := range want {
		// With both in the same order, the first comparison succeeds.
		for n := range got {
			j := (i + n) % len(got)
			if !used[j] && sameRow(w, got[j]) {
				used[j] = true
				continue next
			}
		}
		return false
	}
	return true
}

func sameRow(a, b []any) bool { return slices.EqualFunc(a, b, sameCell) }

// sameCell compares two values by the rule of MatchRows.
func sameCell(a, b any) bool {
	x, y := cellText(a), cellText(b)
	if x == y {
		return true
	}
	if n, ok := number(x); ok {
		m, ok := number(y)
		return ok && near(n, m)
	}
	t := timestamp(x)
	return t != "" && t == timestamp(y)
}

func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return map[bool]string{true: "1", false: "0"}[v]
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	text, _ := json.Marshal(v)
	return string(text)
}

var numberText = regexp.MustCompile(`^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$`)

func number(text string) (float64, bool) {
	if !numberText.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b))
}

var timestampText = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?(?:Z|\+00(?::00)?)?$`)

// timestamp normalizes an ISO time; "" for other texts.
func timestamp(text string) string {
	m := timestampText.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	clock := m[2]
	switch {
	case clock == "":
		clock = "00:00:00"
	case len(clock) == len("15:04"):
		clock += ":00"
	case strings.Contains(clock, "."):
		clock = strings.TrimRight(strings.TrimRight(clock, "0"), ".")
	}
	return m[1] + " " + clock
}
