package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"parley/llm"
)

// tolerance is the relative difference within which numbers are equal.
const tolerance = 1e-6

// Values are a result as rows of values, in the order of its columns, without
// those whose name starts with __. A result without names of columns has those of
// its first row.
func Values(result llm.Rows) ([][]any, error) {
	rows := make([][]any, 0, len(result.Rows))
	for _, raw := range result.Rows {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		var cells map[string]any
		if err := d.Decode(&cells); err != nil {
			return nil, fmt.Errorf("read row: %w", err)
		}
		if result.Columns == nil {
			result.Columns = keys(raw)
		}
		row := []any{}
		for _, name := range result.Columns {
			if !strings.HasPrefix(name, "__") {
				row = append(row, cells[name])
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// keys are the keys of an object that is known to be one, in their order.
func keys(object json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(object)))
	names := []string{}
	_, err := d.Token()
	for err == nil && d.More() {
		var name json.Token
		if name, err = d.Token(); err == nil {
			names = append(names, name.(string))
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
	}
	return names
}

// Matches reports whether rows are a right answer.
func (q *Question) Matches(rows [][]any) bool {
	if q.Match == MatchValues {
		return q.matchesValues(rows)
	}
	if q.matchesRows(q.Answer, rows) {
		return true
	}
	for _, other := range q.Alternatives {
		if q.matchesRows(other, rows) {
			return true
		}
	}
	return false
}

// matchesRows reports whether rows are the wanted ones under some permutation of
// the columns.
func (q *Question) matchesRows(want, got [][]any) bool {
	if len(want) != len(got) {
		return false
	}
	if len(want) == 0 {
		return true
	}
	width := len(want[0])
	for i := range want {
		if len(want[i]) != width || len(got[i]) != width {
			return false
		}
	}
	m := matcher{q: q, want: want, got: got, perm: make([]int, 0, width), used: make([]bool, width)}
	m.fits = make([][]bool, width)
	for i := range m.fits {
		m.fits[i] = make([]bool, width)
		for j := range m.fits[i] {
			m.fits[i][j] = sameMultiset(column(want, i), column(got, j))
		}
	}
	return m.search()
}

func column(rows [][]any, i int) [][]any {
	cells := make([][]any, len(rows))
	for n, row := range rows {
		cells[n] = row[i : i+1]
	}
	return cells
}

// matcher looks for the permutation of columns under which rows are equal.
type matcher struct {
	q         *Question
	want, got [][]any
	// fits says which columns have the same values, in any order.
	fits [][]bool
	perm []int
	used []bool
	// tries bounds the search over columns that are alike.
	tries int
}

const maxTries = 5_000

func (m *matcher) search() bool {
	if len(m.perm) == len(m.used) {
		m.tries++
		return m.equal()
	}
	for j := range m.used {
		if m.used[j] || !m.fits[len(m.perm)][j] || m.tries > maxTries {
			continue
		}
		m.used[j] = true
		m.perm = append(m.perm, j)
		if m.search() {
			return true
		}
		m.perm = m.perm[:len(m.perm)-1]
		m.used[j] = false
	}
	return false
}

func (m *matcher) equal() bool {
	got := make([][]any, len(m.got))
	for i, row := range m.got {
		got[i] = make([]any, len(row))
		for to, from := range m.perm {
			got[i][to] = row[from]
		}
	}
	if !m.q.Ordered {
		return sameMultiset(m.want, got)
	}
	start := 0
	blocks := m.q.Blocks
	if len(blocks) == 0 || sum(blocks) != len(got) {
		blocks = make([]int, len(got))
		for i := range blocks {
			blocks[i] = 1
		}
	}
	for _, size := range blocks {
		if !sameMultiset(m.want[start:start+size], got[start:start+size]) {
			return false
		}
		start += size
	}
	return true
}

func sum(numbers []int) (n int) {
	for _, v := range numbers {
		n += v
	}
	return n
}

func sameMultiset(want, got [][]any) bool {
	used := make([]bool, len(got))
next:
	for i, w := range want {
		// Where both are in the same order the first try fits.
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

func sameRow(a, b []any) bool {
	for i := range a {
		if !sameCell(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameCell compares two values of the rows rule.
func sameCell(a, b any) bool {
	x, y := cellText(a), cellText(b)
	if x == y {
		return true
	}
	if n, ok := number(x); ok {
		m, ok := number(y)
		return ok && near(n, m)
	}
	s, ok := timestamp(x)
	if !ok {
		return false
	}
	t, ok := timestamp(y)
	return ok && s == t
}

func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "1"
		}
		return "0"
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	default:
		text, _ := json.Marshal(v)
		return string(text)
	}
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

// timestamp writes an ISO time in one way.
func timestamp(text string) (string, bool) {
	m := timestampText.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	clock := m[2]
	if len(clock) == len("15:04") {
		clock += ":00"
	}
	if strings.Contains(clock, ".") {
		clock = strings.TrimRight(strings.TrimRight(clock, "0"), ".")
	}
	if clock == "" {
		clock = "00:00:00"
	}
	return m[1] + " " + clock, true
}
