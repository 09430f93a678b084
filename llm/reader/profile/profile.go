// Package profile reads statistics and sample values of datasets with few, bounded queries,
// and caches them for each version of a dataset. What they mean is left to package catalog.
package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// Limits of a profile.
const (
	// sampledRows limits the rows that are read of a dataset, from the first row on.
	sampledRows = 50_000
	// queryColumns limits the columns of one query.
	queryColumns = 60
)

// Read reads the profile of a dataset.
func Read(ctx context.Context, data llm.Data, d llm.Dataset) (*catalog.Profile, error) {
	r := &reader{data: data, limit: catalog.ValueLimit(len(d.Columns)),
		Profile: &catalog.Profile{Name: d.Name, DisplayName: d.DisplayName, Description: d.Description, Rows: d.Rows, Parts: d.Parts, Columns: make([]catalog.ColumnProfile, len(d.Columns))}}
	for i, c := range d.Columns {
		r.Columns[i] = catalog.ColumnProfile{Name: c.Name, Type: c.Type, Description: c.Description}
	}
	for start := 0; start < len(r.Columns); start += queryColumns {
		if err := r.read(ctx, r.Columns[start:min(start+queryColumns, len(r.Columns))]); err != nil {
			return nil, fmt.Errorf("read values of %s: %w", d.Name, err)
		}
	}
	return r.Profile, nil
}

type reader struct {
	*catalog.Profile
	data llm.Data
	// limit is the maximum number of values per column.
	limit int
}

// read reads some columns with one query. If the query is invalid, or its result too large,
// it reads each half of the columns.
func (r *reader) read(ctx context.Context, columns []catalog.ColumnProfile) error {
	rows, err := r.data.Query(ctx, r.query(columns))
	switch {
	case err != nil && !errors.Is(err, llm.ErrBadQuery):
		return err
	case err == nil && len(rows.Rows) == 1:
		return r.decode(rows.Rows[0], columns)
	case len(columns) > 1:
		if err := r.read(ctx, columns[:len(columns)/2]); err != nil {
			return err
		}
		return r.read(ctx, columns[len(columns)/2:])
	}
	return nil // nothing is known of this column
}

// query returns the SQL that counts, for each column, the filled cells and distinct values,
// and selects the first values as text, the minimum and the maximum.
func (r *reader) query(columns []catalog.ColumnProfile) string {
	list := []string{"count(*) AS n"}
	for i := range columns {
		name := ir.Ident(columns[i].Name)
		list = append(list, fmt.Sprintf("count(%s) AS f%d", name, i))
		switch {
		case catalog.IsList(columns[i].Type):
			members := fmt.Sprintf("coalesce(list_distinct(flatten(list(%s))), [])", name)
			list = append(list, fmt.Sprintf("len(%s) AS d%d", members, i),
				fmt.Sprintf("list_slice(list_sort(list_transform(%s, lambda x: left(x, %d))), 1, %d) AS v%d", members, catalog.MaxValueLength, r.limit, i))
		case catalog.Comparable(columns[i].Type):
			list = append(list, fmt.Sprintf("count(DISTINCT %s) AS d%d", name, i),
				fmt.Sprintf("list_slice(list_sort(list(DISTINCT left(CAST(%s AS VARCHAR), %d)) FILTER (WHERE %s IS NOT NULL)), 1, %d) AS v%d",
					name, catalog.MaxValueLength, name, r.limit, i))
		}
		if catalog.Ordered(columns[i].Type) {
			list = append(list, fmt.Sprintf("CAST(min(%s) AS VARCHAR) AS l%d, CAST(max(%s) AS VARCHAR) AS m%d", name, i, name, i))
		}
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT * FROM %s LIMIT %d) AS sample", strings.Join(list, ", "), r.source(), sampledRows)
}

// source returns the dataset in FROM.
func (r *reader) source() string {
	names := make([]string, len(r.Columns))
	for i := range r.Columns {
		names[i] = r.Columns[i].Name
	}
	return ir.Source(r.Name, r.Parts, names)
}

// decode stores the result of a query in the profile.
func (r *reader) decode(row json.RawMessage, columns []catalog.ColumnProfile) error {
	var cells map[string]json.RawMessage
	if err := json.Unmarshal(row, &cells); err != nil {
		return err
	}
	seen := number(cells["n"])
	if r.Rows = max(r.Rows, seen); seen < r.Rows {
		r.Sampled = seen
	}
	for i := range columns {
		c := &columns[i]
		c.Filled = number(cells[fmt.Sprint("f", i)])
		c.Distinct = number(cells[fmt.Sprint("d", i)])
		c.Least, c.Most = text(cells[fmt.Sprint("l", i)]), text(cells[fmt.Sprint("m", i)])
		if list := cells[fmt.Sprint("v", i)]; list != nil {
			var values []string
			if err := json.Unmarshal(list, &values); err != nil {
				return err
			}
			c.Values = append(make([]string, 0, len(values)), values...) // without room for more
		}
		c.Complete = r.Sampled == 0 && c.Distinct <= int64(r.limit) && (catalog.Comparable(c.Type) || catalog.IsList(c.Type))
	}
	return nil
}

func number(text json.RawMessage) int64 {
	var n json.Number
	if json.Unmarshal(text, &n) != nil {
		return 0
	}
	i, _ := n.Int64()
	return i
}

// text decodes a JSON string; "" for anything else.
func text(value json.RawMessage) string {
	var s string
	_ = json.Unmarshal(value, &s)
	return s
}
