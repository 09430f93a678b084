package ingest

import (
	"context"
	"fmt"

	"parley/storage"
)

// fitDigits gives columns of numbers that doubles do not hold a decimal type with all their
// digits; without such a type they are text. A column of doubles that the dataset has stays one.
func (r *run) fitDigits(ctx context.Context, t *table, file *csvFile) error {
	for i := range file.columns {
		d := &file.columns[i]
		if d.typ != typeExact {
			continue
		}
		name, have := t.columns[i].Name, r.numberType(t.columns[i].Name)
		typ, err := file.decimalType(ctx, r, i)
		if err != nil {
			return err
		}
		warning := ""
		switch {
		case have == typeDouble:
			typ, warning = typeDouble, "some numbers have more digits than the column of the dataset, and are rounded to about 16"
		case typ == "" && have != "":
			typ = typeDouble
		case typ == "":
			typ, warning = typeVarchar, "the column is text: its numbers have more digits than a number can have"
		}
		if warning != "" {
			t.report.Warnings = append(t.report.Warnings, storage.IngestWarning{Column: name, Message: warning})
		}
		d.typ, t.columns[i].Type, t.report.Columns[i].Type = typ, typ, typ
	}
	return nil
}

// decimalType gives the narrowest decimal type that has all numbers of a column, "" if there
// is none.
func (c *csvFile) decimalType(ctx context.Context, r *run, column int) (string, error) {
	want := make([]string, len(c.columns))
	for i := range want {
		want[i] = typeVarchar
	}
	from, exprs := c.read(want, false)
	cell := exprs[column]
	var whole, fraction int
	var exponent bool
	err := r.db.QueryRowContext(ctx, fmt.Sprintf(`
SELECT coalesce(max(length(split_part(ltrim(x, '-'), '.', 1))), 0), coalesce(max(length(split_part(x, '.', 2))), 0), coalesce(bool_or(contains(lower(x), 'e')), false)
FROM (SELECT CASE WHEN NOT %s THEN trim(%s) END AS x FROM %s)`, isMissing(cell), cell, from)).Scan(&whole, &fraction, &exponent)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("count digits: %w", err)
	case exponent || whole+fraction > 38:
		return "", nil
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", whole+fraction, fraction), nil
}
