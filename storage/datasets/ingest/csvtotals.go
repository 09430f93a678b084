package ingest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// isTotal reports whether a row is one of totals by its first value.
func isTotal(fields [][]byte) bool {
	for _, f := range fields {
		if f = bytes.Trim(f, " :."); len(f) > 0 {
			return source.IsTotal(f)
		}
	}
	return false
}

// rowWarnings say which rows are left out, and which look like totals.
func rowWarnings(b *csvBlock) (warnings []domain.IngestWarning) {
	if b.empty > 0 {
		warnings = append(warnings, domain.IngestWarning{Message: source.Count(int(b.empty), "row") + " without a value not read"})
	}
	for _, line := range b.totals.lines {
		warnings = append(warnings, domain.IngestWarning{Line: line + 1, Message: "the row looks like a row of totals, which sums count again; if it is one, delete it from the file"})
	}
	if more := int(b.totals.count) - len(b.totals.lines); more > 0 {
		warnings = append(warnings, domain.IngestWarning{Message: source.Count(more, "more row") + " like a row of totals"})
	}
	return warnings
}

// csvTotals is the last row of a file, if its first value says that it is one of totals.
type csvTotals struct {
	cells []string
	// offset is where it begins, lines how many lines follow the rows above it.
	offset, lines int64
}

// readTotals finds the last row of a table, and gives it if it is one of totals.
func readTotals(path string, separator byte, columns int) (csvTotals, error) {
	tail, from, err := readTail(path)
	if err != nil {
		return csvTotals{}, err
	}
	var lines int64
	for at := lastLine(tail); at > 0; at = lastLine(tail) {
		line := bytes.TrimRight(tail[at:], "\r\n")
		lines++
		records := headRecords(append(bytes.Clone(line), '\n'), separator)
		switch {
		case bytes.Count(line, []byte{'"'})%2 == 1:
			return csvTotals{}, nil // a value of several lines
		case len(records) == 0 || filled(records[0].fields) == 0:
			tail = tail[:at]
			continue
		case len(records[0].fields) != columns || !isTotalRow(records[0].fields):
			return csvTotals{}, nil
		}
		return csvTotals{cells: records[0].fields, offset: from + int64(at), lines: lines}, nil
	}
	return csvTotals{}, nil
}

func isTotalRow(cells []string) bool {
	fields := make([][]byte, len(cells))
	for i, cell := range cells {
		fields[i] = []byte(cell)
	}
	return isTotal(fields)
}

// checkTotals is checkRows without the last row, if that has the totals of the rows above it.
func (r *run) checkTotals(ctx context.Context, in source.Input, header csvHeader, names []string, file *csvFile) (*table, *csvBlock, error) {
	totals, err := readTotals(in.Path, file.separator, len(names))
	if err != nil {
		return nil, nil, err
	}
	if totals.cells == nil || totals.offset < int64(header.size) {
		return r.checkRows(ctx, in, header, names, file)
	}
	before, above := r.progress.now, in
	if above.Path, err = r.cutFile(in.Path, totals.offset); err != nil {
		return nil, nil, err
	}
	t, whole, err := r.checkRows(ctx, above, header, names, file)
	if err == nil {
		var sums bool
		if sums, err = r.hasSums(ctx, t, totals.cells); sums {
			t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{
				Line: whole.lines + 1, Message: "the row of totals not read, so that sums do not count it again: " + source.Excerpt(strings.Join(totals.cells, " ")),
			})
			whole.lines += totals.lines
			return t, whole, nil
		}
	}
	if ctx.Err() != nil {
		return nil, nil, err
	}
	r.progress.now = before
	return r.checkRows(ctx, in, header, names, file)
}

// hasSums reports whether cells have the sum of the numbers of a column.
func (r *run) hasSums(ctx context.Context, t *table, cells []string) (bool, error) {
	want := make([]string, len(t.columns))
	for i, c := range t.columns {
		want[i] = c.Type
	}
	from, values := t.read(want, false)
	var exprs []string
	var totals, within []float64
	for i, c := range t.columns {
		if total, unit, ok := totalOf(cells[i], t.report.Columns[i].From); ok && total != 0 && isNumber(c.Type) {
			exprs = append(exprs, fmt.Sprintf("sum(CAST(%s AS DOUBLE))", values[i]))
			totals, within = append(totals, total), append(within, unit/2+1e-9*math.Abs(total))
		}
	}
	if len(exprs) == 0 {
		return false, nil
	}
	sums, dest := make([]sql.NullFloat64, len(exprs)), make([]any, len(exprs))
	for i := range sums {
		dest[i] = &sums[i]
	}
	if err := r.db.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(exprs, ", "), from)).Scan(dest...); err != nil {
		return false, fmt.Errorf("sum columns: %w", err)
	}
	for i, sum := range sums {
		if sum.Valid && math.Abs(sum.Float64-totals[i]) <= within[i] {
			return true, nil
		}
	}
	return false, nil
}

// totalOf returns the number in a cell of a column whose cells have a form, and the unit of its
// last digit.
func totalOf(cell, from string) (total, unit float64, ok bool) {
	decimal := '.'
	if strings.HasSuffix(from, ",56") || from == "1.234" {
		decimal = ','
	}
	number := strings.Map(func(c rune) rune {
		switch {
		case c == decimal:
			return '.'
		case c == '-' || c == '(' || c == '−':
			return '-'
		case c >= '0' && c <= '9':
			return c
		}
		return -1
	}, cell)
	_, fraction, _ := strings.Cut(number, ".")
	total, err := strconv.ParseFloat(number, 64)
	return total, math.Pow10(-len(fraction)), err == nil
}
