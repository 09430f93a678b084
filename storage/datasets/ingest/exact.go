package ingest

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// digitCount is how many digits the numbers of a column have at most.
type digitCount struct {
	whole, fraction int
	// exponent says that a number has an exponent.
	exponent bool
	// rounded counts the numbers that isRounded.
	rounded int64
}

// add counts the digits of a number of JSON.
func (d *digitCount) add(number []byte) {
	whole, fraction, _ := bytes.Cut(bytes.TrimPrefix(number, []byte{'-'}), []byte{'.'})
	d.whole, d.fraction = max(d.whole, len(whole)), max(d.fraction, len(fraction))
	d.exponent = d.exponent || bytes.ContainsAny(number, "eE")
	if isRounded(number) {
		d.rounded++
	}
}

// safeDigits is how many digits a double always holds.
const safeDigits = 15

// isRounded reports whether a fraction without an exponent is another one as a double, which
// is written with as many digits.
func isRounded(b []byte) bool {
	if len(b) <= safeDigits+1 {
		return false
	}
	b = bytes.Trim(b, " ")
	if bytes.ContainsAny(b, "eE") {
		return false
	}
	_, fraction, found := bytes.Cut(b, []byte{'.'})
	f, err := strconv.ParseFloat(string(b), 64)
	if !found || err != nil {
		return false
	}
	// Programs write the shortest form, which is the fastest to make too.
	var short [32]byte
	return !bytes.Equal(strconv.AppendFloat(short[:0], f, 'f', -1, 64), b) && losesDigits(b, len(fraction))
}

// rounded warns of numbers that a column of doubles rounds.
func rounded(count int64) string {
	return source.Count(int(count), "number") + " rounded to about 16 digits; choose the type decimal(digits,scale) or text to keep all digits"
}

// decimal returns the narrowest decimal type that has all numbers, "" if there is none.
func (d digitCount) decimal() string {
	if d.exponent || d.whole+d.fraction > 38 {
		return ""
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", d.whole+d.fraction, d.fraction)
}

// exactType returns a column of numbers that doubles do not hold a decimal type with all their
// digits; without such a type it is text. A column of doubles that the dataset has stays one.
func (r *run) exactType(t *table, column string, digits digitCount) string {
	typ, have, warning := digits.decimal(), r.numberType(column), ""
	switch {
	case have == typeDouble:
		typ, warning = typeDouble, "some numbers have more digits than the column of the dataset, and are rounded to about 16"
	case typ == "" && have != "":
		typ = typeDouble
	case typ == "":
		typ, warning = typeVarchar, "the column is text: its numbers have more digits than a number can have"
	}
	if warning != "" {
		t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{Column: column, Message: warning})
	}
	return typ
}

// fitDigits returns the types of columns that exactType decides.
func (r *run) fitDigits(ctx context.Context, t *table, file *csvFile) error {
	var exact []int
	for i := range file.columns {
		if file.columns[i].typ == typeExact {
			exact = append(exact, i)
		}
	}
	if len(exact) == 0 {
		return nil
	}
	counts, err := file.countDigits(ctx, r, exact)
	if err != nil {
		return err
	}
	for at, i := range exact {
		report := &t.report.Columns[i]
		report.Type = r.exactType(t, t.columns[i].Name, counts[at])
		if report.Type == typeVarchar {
			report.Missing, report.Unit, report.From, t.spelled[i] = report.Missing-t.spelled[i], "", "", 0
		}
		file.columns[i].typ, t.columns[i].Type = report.Type, report.Type
	}
	return nil
}

// countDigits counts the digits of columns.
func (c *csvFile) countDigits(ctx context.Context, r *run, columns []int) ([]digitCount, error) {
	want := make([]string, len(c.columns))
	for i := range want {
		want[i] = typeVarchar
	}
	from, cells := c.read(want, false)
	counts := make([]digitCount, len(columns))
	var numbers, exprs []string
	var dest []any
	for at, i := range columns {
		number := fmt.Sprintf("trim(%s)", cells[i])
		if read := c.columns[i].expr; read != nil {
			number = read(cells[i], typeVarchar)
		}
		x := fmt.Sprintf("x%d", at)
		numbers = append(numbers, fmt.Sprintf("CASE WHEN NOT %s THEN %s END AS %s", isMissing(cells[i]), number, x))
		exprs = append(exprs, fmt.Sprintf("coalesce(max(length(split_part(ltrim(%s, '-'), '.', 1))), 0)", x),
			fmt.Sprintf("coalesce(max(length(split_part(%s, '.', 2))), 0)", x), fmt.Sprintf("coalesce(bool_or(contains(lower(%s), 'e')), false)", x))
		dest = append(dest, &counts[at].whole, &counts[at].fraction, &counts[at].exponent)
	}
	query := fmt.Sprintf("SELECT %s FROM (SELECT %s FROM %s)", strings.Join(exprs, ", "), strings.Join(numbers, ", "), from)
	if err := r.db.QueryRowContext(ctx, query).Scan(dest...); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return nil, fmt.Errorf("count digits: %w", err)
	}
	return counts, nil
}
