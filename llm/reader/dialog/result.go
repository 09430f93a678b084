package dialog

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/jsonscan"
	"parley/internal/locale"
	"parley/internal/unitname"
	"parley/llm"
	"parley/llm/reader/catalog"
)

// answerColumn is a column of a result with its values.
type answerColumn struct {
	// name is the escaped display name.
	name, unit string
	// conditions are those of a figure that is compared, in words.
	conditions string
	values     []json.RawMessage
	// numbers has the values of a measure, NaN for none; nil for other columns.
	numbers []float64
	// decimals is how many its numbers have at least.
	decimals int
	// layout formats its dates; "" if there are none.
	layout string
	format locale.Numbers
	// added says that rows were selected by it, and it was not asked for.
	added bool
}

// answerResult is a result of a step.
type answerResult struct {
	columns []answerColumn
	// compared are two figures that the only column compares.
	compared []answerColumn
	rows     int
	format   locale.Numbers
	// truncated says that there were more rows, and total how many in all, if they were
	// counted.
	truncated bool
	total     int64
}

// newAnswerResult reads the rows of a step.
func newAnswerResult(s llm.Step, numbers locale.Numbers) answerResult {
	r := answerResult{format: numbers, truncated: s.Rows.Truncated, total: s.Rows.Total}
	rows := rowMembers(s.Rows)
	r.rows = len(rows)
	names := slices.DeleteFunc(slices.Clone(s.Rows.Columns), func(name string) bool { return strings.HasPrefix(name, "__") })
	for _, name := range names {
		c := answerColumn{format: numbers, unit: s.Rows.Units[name], added: name == s.Rows.Measure}
		c.name = columnName(unitname.Without(name, c.unit))
		for _, row := range rows {
			c.values = append(c.values, row[name])
		}
		c.numbers, c.layout = readNumbers(name, c.values), dateLayout(name, c.values)
		c.decimals = leastDecimals(c)
		if areYears(name, c.numbers) {
			c.format = numbers.WithoutGroups()
		}
		if c.numbers != nil && (strings.EqualFold(name, "count") || strings.EqualFold(name, "percent")) {
			c.name = figureName(s.Reasoning, c.name, len(names) == 1 && len(rows) == 1)
		}
		r.columns = append(r.columns, c)
	}
	r.compare(s.Rows, rows)
	cents := slices.ContainsFunc(r.columns, func(c answerColumn) bool { return c.isMoney() && c.decimals > 0 })
	for i := range r.columns {
		if cents && r.columns[i].isMoney() {
			r.columns[i].decimals = 2
		}
	}
	return r
}

// compare sets the figures that the only value compares, which [ir.WithMeasure] adds.
func (r *answerResult) compare(found llm.Rows, rows []map[string]json.RawMessage) {
	if len(r.columns) != 1 || len(rows) != 1 || len(found.Columns) != 3 || r.columns[0].numbers == nil {
		return
	}
	value, decimals := &r.columns[0], 0
	var figures []answerColumn
	for _, name := range found.Columns {
		measure, conditions, ok := strings.Cut(strings.TrimPrefix(name, "__"), " ")
		if !ok || !strings.HasPrefix(name, "__") {
			continue
		}
		c := answerColumn{name: columnName(measure), conditions: escapeCell(conditions), unit: found.Units[name], values: []json.RawMessage{rows[0][name]}, format: r.format}
		c.numbers = readNumbers(measure, c.values)
		decimals = max(decimals, leastDecimals(c))
		figures = append(figures, c)
	}
	if len(figures) != 2 || figures[0].numbers == nil || figures[1].numbers == nil {
		return
	}
	figures[0].decimals, figures[1].decimals = decimals, decimals
	r.compared = figures
	switch value.name {
	case "difference":
		value.decimals = decimals
	case "percent":
		value.name = "change"
	default:
		return
	}
	if figures[0].name != "count" {
		value.name += " in " + figures[0].name
	}
}

// rowMembers returns the values of each row by column. It does not decode them: a result can be large.
func rowMembers(rows llm.Rows) []map[string]json.RawMessage {
	all := make([]map[string]json.RawMessage, len(rows.Rows))
	for i, row := range rows.Rows {
		all[i] = make(map[string]json.RawMessage, len(rows.Columns))
		for name, value := range jsonscan.Members(row) {
			all[i][string(name)] = value
		}
	}
	return all
}

var (
	countedRows = regexp.MustCompile(`^(?:R|I r)ead (?:[^:]* )?as: ((?:number|percentage) of (?:“[^”]*”|[^“])+?)\.(?: [A-Z]|$)`)
	quotedValue = regexp.MustCompile(`“[^”]*”|with a known`)
	// conditions begin what a count counts only some of: a period, or what else is known of them.
	conditions = regexp.MustCompile(`, | per | with | without | right (?:after|before) | (?:not )?(?:in|on|from|after|before) (?:[0-9A-Z]|the |today)`)
	shareOfAll = regexp.MustCompile(`^(?:R|I r)ead (?:[^:]* )?as: ([^,.]+?)(?: of [^,.]+?)? as a percentage of all`)
)

// figureName says what a count counts, or of what a percentage is one, from the reading of the
// question. A figure that is alone has its conditions, if no comma could end one of them.
func figureName(reasoning, name string, alone bool) string {
	if found := countedRows.FindStringSubmatch(reasoning); found != nil {
		text := found[1]
		// What is in a quoted value ends nothing.
		plain := quotedValue.ReplaceAllStringFunc(text, func(value string) string { return strings.Repeat("_", len(value)) })
		_, groups, isGrouped := strings.Cut(plain, " per ")
		switch end := conditions.FindStringIndex(plain); {
		case strings.Contains(plain, ", ") || strings.HasPrefix(text, "number") && !alone:
			if end != nil {
				text = text[:end[0]]
			}
		case isGrouped && !alone:
			text = text[:len(text)-len(groups)-len(" per ")]
		}
		return escapeCell(text)
	}
	if found := shareOfAll.FindStringSubmatch(reasoning); found != nil {
		return "share of the " + escapeCell(found[1])
	}
	return name
}

// moneyWords are last words in names of amounts of money.
var moneyWords = catalog.WordSet("amount price cost costs revenue sales turnover profit income salary fee fees")

// isMoney reports whether the numbers of a column are amounts of money.
func (c answerColumn) isMoney() bool {
	words := strings.Fields(strings.ToLower(c.name))
	return c.numbers != nil && (unitname.IsCurrency(c.unit) || c.unit == "" && len(words) > 0 && moneyWords[words[len(words)-1]])
}

var writtenNumber = regexp.MustCompile(`^"-?(0|[1-9][0-9]*)\.[0-9]+"$|^"-?[1-9][0-9]{15,}"$`)

// readNumbers returns the values of a measure; nil for other columns.
func readNumbers(name string, values []json.RawMessage) []float64 {
	words := strings.Fields(strings.ToLower(catalog.DisplayName(name)))
	if !catalog.IsQuantity(words) && !(len(words) > 2 && words[0] == "total") { // which can be of "last year"
		return nil
	}
	numbers, found := make([]float64, len(values)), false
	for i, value := range values {
		text := string(value)
		if text == "" || text == "null" {
			numbers[i] = math.NaN()
			continue
		}
		if writtenNumber.MatchString(text) {
			text = strings.Trim(text, `"`)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil
		}
		numbers[i], found = n, true
	}
	if !found {
		return nil
	}
	return numbers
}

// areYears reports whether the numbers of a column with such a name can be years, or averages of them.
func areYears(name string, numbers []float64) bool {
	words := strings.Fields(strings.ToLower(catalog.DisplayName(name)))
	return (slices.Contains(words, "year") || slices.Contains(words, "years")) && !slices.ContainsFunc(numbers, func(n float64) bool { return n < catalog.FirstYear || n > catalog.LastYear })
}

// leastDecimals returns 2 if amounts have cents, or are of money with a fraction, and 0
// otherwise.
func leastDecimals(c answerColumn) int {
	most := 0
	for i, n := range c.numbers {
		_, decimals, _ := strings.Cut(shortNumber(c.values[i]), ".")
		if len(decimals) > 2 || math.Abs(n) >= 1e15 {
			return 0
		}
		most = max(most, len(decimals))
	}
	if most == 1 && !c.isMoney() {
		return 0
	}
	return 2 * min(most, 1)
}

// dateLayout returns the layout for a column of dates; "" for others.
func dateLayout(name string, values []json.RawMessage) string {
	layout := "2 January 2006"
	for _, value := range values {
		if _, err := time.Parse(time.DateOnly, jsonText(value)); err != nil && string(value) != "null" {
			return ""
		}
	}
	switch last := strings.ToLower(name); {
	case strings.HasSuffix(last, "month"):
		layout = "January 2006"
	case strings.HasSuffix(last, "quarter"):
		layout = "Q 2006"
	case strings.HasSuffix(last, "year"):
		layout = "2006"
	}
	return layout
}

// text formats the value of a row; "" for none.
func (c answerColumn) text(row int) string {
	text := jsonText(c.values[row])
	switch {
	case text == "":
		return ""
	case c.numbers != nil:
		return formatNumber(c.format, c.values[row], c.unit, c.decimals)
	case c.layout != "":
		at, err := time.Parse(time.DateOnly, text)
		if err == nil && strings.HasPrefix(c.layout, "Q") {
			return "Q" + strconv.Itoa((int(at.Month())+2)/3) + at.Format(" 2006")
		}
		if err == nil {
			return at.Format(c.layout)
		}
	}
	if c.values[row][0] != '"' {
		text = c.format.Ungrouped(shortNumber(c.values[row]))
	}
	return escapeCell(text)
}

// label is text for a group.
func (c answerColumn) label(row int) string {
	if text := c.text(row); text != "" {
		return text
	}
	return "not recorded"
}
