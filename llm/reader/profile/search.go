package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// Limits of looking for values.
const (
	// lookUpRows is the row limit of a table to search.
	lookUpRows = 2_000_000
	// lookUpCells limits the values that are found in a column.
	lookUpCells = 20
)

// SearchValues searches phrases among the values that a catalog does not list, with one query for
// each table that has such text columns. Phrases are in lower case; case and surrounding
// blanks of values do not count.
func SearchValues(ctx context.Context, data llm.Data, cat *catalog.Catalog, phrases []string) ([]catalog.Cell, error) {
	if len(phrases) == 0 {
		return nil, nil
	}
	var found []catalog.Cell
	for t := range cat.Tables {
		table := &cat.Tables[t]
		var parts []string
		for _, c := range table.Columns {
			if column := &cat.Columns[c]; (column.Kind == catalog.Text || column.List) && !column.Complete && table.Rows <= lookUpRows {
				name, source := ir.Ident(column.Name), ir.TableSource(cat, t)
				if column.List {
					source = fmt.Sprintf("(SELECT unnest(%[1]s) AS %[1]s FROM %[2]s)", name, source)
				}
				parts = append(parts, fmt.Sprintf("(SELECT DISTINCT %d AS c, %s AS v FROM %s WHERE %s ORDER BY v LIMIT %d)",
					c, name, source, phraseCondition(name, phrases), lookUpCells))
			}
		}
		if len(parts) == 0 {
			continue
		}
		cells, err := lookUp(ctx, data, "SELECT c, v FROM ("+strings.Join(parts, " UNION ALL ")+") AS found ORDER BY c, v")
		if err != nil {
			return nil, fmt.Errorf("look for values in %s: %w", table.Name, err)
		}
		found = append(found, cells...)
	}
	return found, nil
}

// lookUp returns the cells of a query; none for an invalid query.
func lookUp(ctx context.Context, data llm.Data, query string) ([]catalog.Cell, error) {
	rows, err := data.Query(ctx, query)
	if errors.Is(err, llm.ErrBadQuery) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var cells []catalog.Cell
	for _, text := range rows.Rows {
		var row struct {
			C int
			V string
		}
		if err := json.Unmarshal(text, &row); err != nil {
			return nil, err
		}
		cells = append(cells, catalog.Cell{Column: row.C, Value: row.V})
	}
	return cells, nil
}

// phraseCondition returns the SQL condition that a column has one of the phrases. It tests
// the length first, which excludes most values and is much faster than converting them to
// lower case.
func phraseCondition(column string, phrases []string) string {
	var list []string
	var lengths []int
	ascii := true
	for _, p := range phrases {
		list = append(list, ir.Literal(p))
		for blanks := range 3 {
			lengths = append(lengths, len(p)+blanks)
		}
		// Elsewhere the length may depend on the case.
		ascii = ascii && !strings.ContainsFunc(p, func(r rune) bool { return r > unicode.MaxASCII })
	}
	condition := fmt.Sprintf("lower(trim(%s)) IN (%s)", column, strings.Join(list, ", "))
	if ascii {
		slices.Sort(lengths)
		condition = fmt.Sprintf("strlen(%s) IN (%s) AND %s", column, strings.Trim(strings.ReplaceAll(fmt.Sprint(slices.Compact(lengths)), " ", ", "), "[]"), condition)
	}
	return condition
}
