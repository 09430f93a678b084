package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/llm"
)

// Limits of what is learnt of a dataset.
const (
	maxValues      = 1_000  // distinct values of a column that are kept, at most
	minValues      = 80     // and that are kept of each, however many columns there are
	tableValues    = 4_000  // values of a dataset that are kept
	maxValueLength = 120    // characters of one
	sampledRows    = 50_000 // rows that are looked at
	columnsAQuery  = 6
)

// kind is what the values of a column are, whatever their type.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindDate
	kindBool
	// kindTime is a duration or a time of day: 7:24.
	kindTime
	kindOther
)

// table is what is known of a dataset.
type table struct {
	name    string
	words   []string
	rows    int64
	columns []*column
	index   *valueIndex
	bytes   int
	// position of the dataset in the task.
	order int
}

// column is what is known of a column.
type column struct {
	table *table
	name  string
	words []string
	// short is words without those of the table's name, when that leaves any.
	short []string
	hints []string
	kind  kind
	// typed says that the type itself is a number or a date.
	typed    bool
	integers bool
	order    int
	// values are distinct ones, sorted; complete says that they are all.
	values   []string
	complete bool
	// mixed says that a column of figures holds other texts too.
	mixed    bool
	distinct int64
	filled   int64
	unique   bool
	// acronym is the name when it may be one: mpg.
	acronym string
	// period is the span of time that stands for the column's dates: month.
	period string
	// sortedKeys holds the normal form of each value.
	normal []string
}

// newTable is what the catalogue says of a dataset.
func newTable(d llm.Dataset, order int) *table {
	t := &table{name: d.Name, words: nameWords(d.Name), rows: d.Rows, order: order}
	for i, c := range d.Columns {
		if strings.HasPrefix(c.Name, "__") {
			continue
		}
		words := nameWords(c.Name)
		col := &column{table: t, name: c.Name, words: words, short: without(words, t.words), order: i,
			hints: hintWords(c.Description)}
		if len(words) == 1 && len(words[0]) >= 2 && len(words[0]) <= 5 {
			col.acronym = words[0]
		}
		col.kind, col.typed, col.integers = kindOfType(c.Type)
		t.columns = append(t.columns, col)
	}
	return t
}

func without(words, taken []string) []string {
	var rest []string
	for _, w := range words {
		if !slices.ContainsFunc(taken, func(t string) bool { return t == w || len(w) >= 3 && strings.HasPrefix(t, w) }) {
			rest = append(rest, w)
		}
	}
	return rest
}

// hintWords are the words of a definition that say something.
func hintWords(text string) []string {
	var words []string
	for _, t := range tokenize(text) {
		if !t.mark && !stopWords[t.lower] && !slices.Contains(words, t.lemma) && len(words) < 24 {
			words = append(words, t.lemma)
		}
	}
	return words
}

func kindOfType(name string) (k kind, typed, integers bool) {
	name, _, _ = strings.Cut(strings.ToUpper(name), "(")
	switch strings.TrimSpace(name) {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT":
		return kindNumber, true, true
	case "FLOAT", "DOUBLE", "DECIMAL", "REAL":
		return kindNumber, true, false
	case "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "DATETIME", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		return kindDate, true, false
	case "BOOLEAN":
		return kindBool, true, false
	case "VARCHAR", "TEXT", "STRING", "UUID":
		return kindText, false, false
	case "TIME":
		return kindTime, true, false
	}
	return kindOther, false, false
}

// learn reads what a dataset holds.
func (t *table) learn(ctx context.Context, data llm.Data) error {
	for start := 0; start < len(t.columns); start += columnsAQuery {
		batch := t.columns[start:min(start+columnsAQuery, len(t.columns))]
		if err := t.learnColumns(ctx, data, batch); err != nil {
			return err
		}
	}
	t.index = newValueIndex(t)
	t.bytes = t.size()
	return nil
}

// learnColumns reads the values of some columns.
func (t *table) learnColumns(ctx context.Context, data llm.Data, columns []*column) error {
	exprs := []string{"count(*) AS n"}
	most := max(minValues, min(maxValues, tableValues/len(t.columns)))
	for i, c := range columns {
		name := ident(c.name)
		exprs = append(exprs,
			fmt.Sprintf("count(%s) AS f%d", name, i),
			fmt.Sprintf("count(DISTINCT %s) AS d%d", name, i),
			fmt.Sprintf("list_slice(list_sort(list(DISTINCT left(CAST(%s AS VARCHAR), %d))), 1, %d) AS v%d", name, maxValueLength, most, i))
	}
	sql := fmt.Sprintf("SELECT %s FROM (SELECT * FROM %s LIMIT %d) AS s", strings.Join(exprs, ", "), ident(t.name), sampledRows)
	rows, err := data.Query(ctx, sql)
	if err != nil {
		return fmt.Errorf("read values of %s: %w", t.name, err)
	}
	if len(rows.Rows) != 1 {
		return fmt.Errorf("read values of %s: %d rows", t.name, len(rows.Rows))
	}
	var cells map[string]json.RawMessage
	if err := json.Unmarshal(rows.Rows[0], &cells); err != nil {
		return fmt.Errorf("read values of %s: %w", t.name, err)
	}
	seen := asInt(cells["n"])
	t.rows = max(t.rows, seen)
	for i, c := range columns {
		c.filled = asInt(cells[fmt.Sprintf("f%d", i)])
		c.distinct = asInt(cells[fmt.Sprintf("d%d", i)])
		var values []string
		// A list that is not one of texts says nothing of use.
		_ = json.Unmarshal(cells[fmt.Sprintf("v%d", i)], &values)
		c.take(values[:min(len(values), most)])
		c.complete = seen < sampledRows && c.distinct <= int64(most)
		c.unique = c.filled > 0 && c.distinct == c.filled
	}
	return nil
}

// take keeps the values of a column and sees what they are.
func (c *column) take(values []string) {
	c.values = values
	c.normal = make([]string, len(values))
	for i, v := range values {
		c.normal[i] = normalize(v)
	}
	if c.kind == kindText {
		c.kind, c.integers = kindOfValues(values)
		c.mixed = c.kind == kindNumber && slices.ContainsFunc(values, func(v string) bool {
			v = strings.TrimSpace(v)
			return v != "" && !numberCell.MatchString(v)
		})
	}
}

func asInt(raw json.RawMessage) int64 {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return 0
	}
	i, _ := n.Int64()
	return i
}

// size is about how many bytes a table takes in memory.
func (t *table) size() int {
	n := 512
	for _, c := range t.columns {
		n += 256 + len(c.name)
		for i, v := range c.values {
			n += 2*len(v) + len(c.normal[i]) + 64
		}
	}
	return n + t.index.size()
}

// ident quotes a name for SQL.
func ident(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// literal quotes a text for SQL.
func literal(text string) string {
	return `'` + strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), `'`, `''`) + `'`
}
