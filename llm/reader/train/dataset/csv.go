// Package dataset reads training data: the profiles of CSV files in tables/, links, and
// examples; and splits databases into training, development and validation. It runs no
// query: see package duck.
package dataset

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/llm/reader/catalog"
)

// Profiles reads the profiles of all CSV files of a folder, by name.
func Profiles(dir string) ([]*catalog.Profile, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var all []*catalog.Profile
	for _, file := range files {
		p, err := profile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func profile(file string) (*catalog.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no header")
	}
	p := &catalog.Profile{Name: strings.TrimSuffix(filepath.Base(file), ".csv"), Rows: int64(len(rows) - 1)}
	for i, name := range rows[0] {
		p.Columns = append(p.Columns, column(uniqueName(rows[0][:i], name, i), rows[1:], i, len(rows[0])))
	}
	return p, nil
}

// uniqueName returns a header that differs from all earlier ones.
func uniqueName(before []string, name string, i int) string {
	name = strings.TrimPrefix(strings.TrimSpace(name), "\ufeff")
	if name == "" {
		name = fmt.Sprintf("column_%d", i+1)
	}
	base := name
	for n := 2; slices.ContainsFunc(before, func(b string) bool { return strings.EqualFold(b, name) }); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

func column(name string, rows [][]string, i, columns int) catalog.ColumnProfile {
	c := catalog.ColumnProfile{Name: name}
	types := newGuess()
	var cells []string
	for _, row := range rows {
		if i < len(row) && row[i] != "" {
			cells = append(cells, row[i])
			types.observe(row[i])
		}
	}
	c.Type, c.Filled = types.name(), int64(len(cells))
	for n, cell := range cells {
		cells[n] = asText(c.Type, cell)
	}
	slices.Sort(cells)
	cells = slices.Compact(cells)
	c.Distinct = int64(len(cells))
	for n, cell := range cells {
		cells[n] = catalog.TruncateValue(cell)
	}
	c.Values = slices.Compact(cells)
	limit := catalog.ValueLimit(columns)
	c.Complete = c.Distinct <= int64(limit)
	c.Values = slices.Clip(c.Values[:min(len(c.Values), limit)])
	return c
}

// asText writes a cell as the query engine writes a value of a type.
func asText(name, cell string) string {
	switch name {
	case "BOOLEAN":
		return strings.ToLower(strings.TrimSpace(cell))
	case "DOUBLE":
		if n, err := strconv.ParseFloat(strings.TrimSpace(cell), 64); err == nil && math.Abs(n) < 1e15 {
			text := strconv.FormatFloat(n, 'f', -1, 64)
			if !strings.Contains(text, ".") {
				text += ".0"
			}
			return text
		}
	case "TIMESTAMP":
		for _, layout := range append([]string{time.DateOnly}, timestamps...) {
			if at, err := time.Parse(layout, strings.TrimSpace(cell)); err == nil {
				return at.Format("2006-01-02 15:04:05.999999")
			}
		}
	}
	return cell
}

// timestamps are the ways in which a point in time is written.
var timestamps = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05Z", "2006-01-02 15:04:05.999999"}

func isDate(cell string) bool {
	_, err := time.Parse("2006-01-02", cell)
	return err == nil
}

func isTimestamp(cell string) bool {
	return slices.ContainsFunc(timestamps, func(layout string) bool {
		_, err := time.Parse(layout, cell)
		return err == nil
	})
}

// typeGuess has the types that fit all cells so far.
type typeGuess struct{ integer, double, date, timestamp, boolean, seen bool }

func newGuess() *typeGuess { return &typeGuess{true, true, true, true, true, false} }

func (g *typeGuess) observe(cell string) {
	cell = strings.TrimSpace(cell)
	g.seen = true
	_, err := strconv.ParseInt(cell, 10, 64)
	zero := len(cell) > 1 && cell[0] == '0' && cell[1] != '.'
	g.integer = g.integer && err == nil && !zero
	_, err = strconv.ParseFloat(cell, 64)
	g.double = g.double && err == nil && !zero && !strings.ContainsAny(cell, "xXnN_")
	g.date = g.date && isDate(cell)
	g.timestamp = g.timestamp && (isDate(cell) || isTimestamp(cell))
	lower := strings.ToLower(cell)
	g.boolean = g.boolean && (lower == "true" || lower == "false")
}

func (g *typeGuess) name() string {
	switch {
	case !g.seen:
		return "VARCHAR"
	case g.boolean:
		return "BOOLEAN"
	case g.integer:
		return "BIGINT"
	case g.double:
		return "DOUBLE"
	case g.date:
		return "DATE"
	case g.timestamp:
		return "TIMESTAMP"
	}
	return "VARCHAR"
}
