package ingest

import (
	"context"
	"encoding/json"
	"fmt"
)

// addCell counts a value of a column that an option gives a type.
func (f *jsonFile) addCell(c *columnCells, raw []byte) {
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return // the row is refused
		}
		raw = []byte(text)
	}
	if isBlank(raw) {
		c.empty++
		return
	}
	line := f.rowLine
	if f.array || f.anonymous {
		line = f.rows
	}
	c.addValue(raw, line)
}

// convertJSON gives columns the types that options give them, where their values are not of
// such a type but can be read as one, as in CSV.
func (r *run) convertJSON(ctx context.Context, f *jsonFile, t *table) error {
	var cells []columnCells
	for _, c := range f.columns {
		if c.cells != nil {
			cells = append(cells, *c.cells)
		}
	}
	by, converted := conventionsOf(cells), false
	for i := range f.columns {
		c := &f.columns[i]
		if c.cells == nil {
			continue
		}
		typ, order := r.wantedDate(c.name)
		if both, ok := unite(typ, t.columns[i].Type); ok && both == typ {
			continue
		}
		d, line, ok := decideAs(c.cells, by.ordered(order), typ)
		if !ok {
			return refuse("%s: %s", f.position(line, c.name), misfit(typ, order))
		}
		d.report.Name = t.columns[i].Name
		d.report.Missing = f.rows - c.filled + c.cells.empty + c.cells.missing()
		t.columns[i].Type, t.report.Columns[i] = typ, d.report
		c.converted, converted = &d, true
	}
	if !converted {
		return nil
	}
	return r.checkFit(ctx, t)
}

// position names a row, from 1, and a column.
func (f *jsonFile) position(line int64, column string) string {
	switch {
	case f.anonymous:
		return fmt.Sprintf("row %d, column %s", line, quote(column))
	case f.array:
		return fmt.Sprintf("%s, row %d, column %s", f.name, line, quote(column))
	}
	return position(f.name, line, column)
}

// sqlJSON gives the SQL that reads a value, which is text, as a type.
func (d *decision) sqlJSON(value string, nulls []string, typ string) string {
	value = unlessBlank(value)
	if len(nulls) > 0 {
		value = readUnlessNull(value, nulls, typeVarchar)
	}
	read, expr := d.sql(value, typ)
	if read != typeVarchar {
		return convert(expr, typeVarchar, typ) // it is read from text all the same
	}
	return expr
}
