package chart

import (
	"bytes"
	"hash/maphash"
	"math"
	"regexp"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/internal/jsonscan"
	"parley/internal/unitname"
)

// role is what a column is in a chart.
type role int

const (
	undrawn role = iota
	measure
	// period is a time, or ordered in another way.
	period
	category
	identifier
)

// column is a column with what its values are.
type column struct {
	Column
	words []string
	role  role
	// values has the JSON of the values, by row.
	values [][]byte
	nulls  int
	// counted is what the question counts; "" if unknown.
	counted string
	// distinct counts the different values, of all roles but measures.
	distinct int

	// Of measures: whether they are JSON strings, are whole numbers, and their range.
	written, whole bool
	least, most    float64

	// Of periods: grain is set for times. Others have an order, and some are bins.
	grain  grain
	sort   any
	binned bool
}

// table is a result with the roles of its columns.
type table struct {
	Result
	columns []*column
}

var asksCount = regexp.MustCompile(`(?i)\b(?:how many|number of) ([a-z]+)\b`)

// newTable reads the values of the columns and decides their roles.
func newTable(r Result) *table {
	t := &table{Result: r}
	counted := ""
	if found := asksCount.FindStringSubmatch(r.Question); found != nil {
		counted = strings.ToLower(found[1])
	}
	index := map[string]*column{}
	for _, c := range r.Columns {
		if c.Name == "" || len(c.Name) > maxName || strings.HasPrefix(c.Name, "__") || index[c.Name] != nil {
			continue
		}
		read := &column{Column: c, words: words(c.Name), values: make([][]byte, len(r.Rows)), counted: counted}
		index[c.Name] = read
		t.columns = append(t.columns, read)
	}
	for i, row := range r.Rows {
		next := 0
		for key, value := range jsonscan.Members(row) {
			// Members are in the order of the columns.
			if next < len(t.columns) && string(key) == t.columns[next].Name {
				t.columns[next].values[i] = value
				next++
			} else if c := index[string(key)]; c != nil {
				c.values[i] = value
			}
		}
	}
	for _, c := range t.columns {
		c.decide()
	}
	return t
}

// of returns the columns with a role, in order.
func (t *table) of(role role) []*column {
	var all []*column
	for _, c := range t.columns {
		if c.role == role {
			all = append(all, c)
		}
	}
	return all
}

// decide sets the role of a column from its type, name and values.
func (c *column) decide() {
	for _, value := range c.values {
		if isNull(value) {
			c.nulls++
		}
	}
	if c.nulls == len(c.values) {
		return
	}
	switch kind := domain.KindOf(c.Type); {
	case kind == domain.KindNumber:
		c.decideNumber()
	case kind == domain.KindTime:
		c.decideTime()
	case kind == domain.KindText, strings.HasPrefix(c.Type, "ENUM"):
		c.decideText()
	case c.Type == "BOOLEAN":
		c.role = category
	case c.Type == "UUID":
		c.role = identifier
	}
	if c.role == undrawn || c.role == measure {
		return
	}
	// A column that is the same in all rows tells nothing apart.
	if c.distinct = countDistinct(c.values); c.distinct < 2 {
		c.role = undrawn
	}
}

func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

var seed = maphash.MakeSeed()

// countDistinct counts the different values by their hashes, which do not collide in so few
// rows.
func countDistinct(values [][]byte) int {
	seen := make(map[uint64]struct{}, len(values))
	for _, value := range values {
		if !isNull(value) {
			seen[maphash.Bytes(seed, value)] = struct{}{}
		}
	}
	return len(seen)
}

// unique reports whether no two rows have the same values in some columns. Rows without a
// value in the first do not count.
func unique(columns ...*column) bool {
	seen := make(map[uint64]struct{}, len(columns[0].values))
	var hash maphash.Hash
	hash.SetSeed(seed)
	for i, first := range columns[0].values {
		if isNull(first) {
			continue
		}
		hash.Reset()
		for _, c := range columns {
			_, _ = hash.Write(c.values[i])
			_ = hash.WriteByte(0) // no value has it
		}
		if _, again := seen[hash.Sum64()]; again {
			return false
		}
		seen[hash.Sum64()] = struct{}{}
	}
	return true
}

// limit is the largest number that is drawn: a sum of all rows is finite.
const limit = 1e300

func (c *column) decideNumber() {
	c.whole, c.least, c.most = true, math.Inf(1), math.Inf(-1)
	for _, value := range c.values {
		if isNull(value) {
			continue
		}
		if value[0] == '"' {
			c.written = true
			value = value[1 : len(value)-1]
		}
		if !whole(value) {
			c.whole = false
		}
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil || !(math.Abs(n) <= limit) {
			return
		}
		c.least, c.most = min(c.least, n), max(c.most, n)
	}
	switch {
	case c.isCalendar():
		c.role = period
	case isID(c.words):
		c.role = identifier
	default:
		c.role = measure
	}
}

// whole reports whether a number has no fraction.
func whole(number []byte) bool {
	at := bytes.IndexByte(number, '.')
	return bytes.IndexByte(number, 'e') < 0 && (at < 0 || len(bytes.Trim(number[at+1:], "0")) == 0)
}

// maxLabel limits the texts that are labels, in bytes.
const maxLabel = 80

func (c *column) decideText() {
	if c.decideTime() || c.decideOrder() {
		return
	}
	for _, value := range c.values {
		if len(value) > maxLabel {
			return
		}
	}
	c.role = category
	if isID(c.words) {
		c.role = identifier
	}
}

// summable reports whether sums of the measure mean something.
func (c *column) summable() bool { return !anyIn(c.words, unsummable) }

// isShare reports whether the measure is a share of 1.
func (c *column) isShare() bool {
	return c.Unit == "" && c.least >= 0 && c.most <= 1 && !c.whole && anyIn(c.words, shares)
}

// isWhole reports whether the values are shares that make up a whole: 1 or 100 percent.
func (c *column) isWhole() bool {
	if c.nulls > 0 || c.least < 0 || !anyIn(c.words, shares) {
		return false
	}
	sum := 0.0
	for _, value := range c.values {
		n, err := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
		if err != nil {
			return false
		}
		sum += n
	}
	return math.Abs(sum-1) < 0.01 || math.Abs(sum-100) < 1
}

// ascends reports whether the rows are ordered by the measure, the least first.
func (c *column) ascends() bool {
	if len(c.values) < 3 || c.least == c.most {
		return false
	}
	before := math.Inf(-1)
	for _, value := range c.values {
		n, err := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
		if err != nil || n < before {
			return false
		}
		before = n
	}
	return true
}

// display names the column. A count is named for what the question counts.
func (c *column) display() string {
	if name := displayName(c.Name); name != "Count" || c.counted == "" {
		return name
	}
	return "Number of " + c.counted
}

// title names the column on an axis, with its unit.
func (c *column) title() string {
	title := c.display()
	if rest := unitname.Without(c.Name, c.Unit); c.Unit != "" && rest != c.Name {
		title = displayName(rest)
	}
	if unit := displayUnit(c.Unit); unit != "" && c.role == measure && !anyIn(c.words, counts) {
		title += " (" + unit + ")"
	}
	return title
}
