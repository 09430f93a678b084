package ingest

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/internal/domain"
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
	c.addValue(raw, f.rowNumber())
}

// rowNumber returns the line of the row that is being read, or its number, from 0.
func (f *jsonFile) rowNumber() int64 {
	if f.array || f.anonymous {
		return f.rows
	}
	return f.rowLine
}

// noteMisfits says which values made a column text, of which most are something else.
func (f *jsonFile) noteMisfits(t *table, column int) {
	seen, report := &f.columns[column].seen, &t.report.Columns[column]
	if report.Type != typeVarchar {
		return
	}
	values := seen.values()
	d := decideText(seen, conventions{}, values, readings(values, conventions{}))
	if d.report.Misfits == 0 {
		return
	}
	w := domain.IngestWarning{Column: report.Name, Line: d.report.MisfitLines[0], Message: d.warning}
	if report.Misfits, report.MisfitLines = d.report.Misfits, d.report.MisfitLines; f.array || f.anonymous {
		w.Message += fmt.Sprintf(", the first in row %d", w.Line)
		w.Line, report.MisfitLines = 0, nil
	}
	t.report.Warnings = append(t.report.Warnings, w)
}

// convertJSON returns columns the types that options give them, where their values are not of
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

// sqlJSON returns the SQL that reads a value, which is text, as a type.
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
