package ingest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/sqltext"
	"parley/storage"
)

// csvFile is a checked CSV or TSV file.
type csvFile struct {
	path      string
	separator byte
	// header says that the file's first record names the columns.
	header bool
	// columns are what the columns became.
	columns []decision
	// nulls are spellings of a missing value that an option gives.
	nulls []string
}

// checkCSV checks that a file is rows of equally many fields below a header, and
// finds the types of its columns from all of them. Fields are separated by the
// candidate that fits.
func checkCSV(candidates string) func(*run, context.Context, input) (*table, error) {
	return func(r *run, ctx context.Context, in input) (*table, error) {
		separator, headerRow := byte(','), in.headerRow
		if headerRow == 0 {
			var err error
			if separator, err = r.separator(in, candidates); err != nil {
				return nil, err
			}
			headerRow = r.job.Options.HeaderRow
		}
		header, err := readHeader(in, separator, headerRow)
		if err != nil {
			return nil, err
		}
		names, warnings, err := columnNames(in.name, header.fields)
		if err != nil {
			return nil, err
		}
		scanner := newCSVScanner(separator, names)
		for _, null := range r.job.Options.NullValues {
			scanner.nulls = append(scanner.nulls, []byte(null))
		}
		whole, size := header.block, header.size
		whole.columns, whole.rows, whole.last = make([]columnCells, len(names)), 0, nil
		if err := scanner.scanFile(ctx, in.path, int64(size), whole, r.progress.checked); err != nil {
			return nil, err
		}
		if p := whole.problem; p != nil && p.encoding {
			return nil, notUTF8(place(in.name, p.line+1, ""))
		} else if p != nil {
			return nil, refuse("%s: %s", place(in.name, p.line+1, p.column), p.reason)
		}

		file := &csvFile{path: in.path, separator: separator, header: true, nulls: r.job.Options.NullValues}
		t := &table{name: in.name, rows: whole.rows, read: file.read}
		if t.report.HeaderRow = header.row; in.headerRow == 0 {
			t.report.Delimiter = string(separator)
		}
		t.report.Warnings = append(header.warnings, warnings...)
		if file.columns, err = r.decideColumns(t, names, whole.columns); err != nil {
			return nil, err
		}
		for _, last := range headRecords(whole.last, separator) {
			if isTotal(last.fields) {
				t.report.Warnings = append(t.report.Warnings, storage.IngestWarning{Line: whole.lastLine + 1, Message: "the last row looks like a row of totals"})
			}
		}
		// DuckDB reads one kind of line end, and has its own rules for blank
		// lines and stray quotes.
		if whole.blank || whole.stray || !header.plain || whole.lf && whole.crlf {
			file.header = false
			file.path, err = r.writeTemp(func(out io.Writer) error { return scanner.rewrite(ctx, in.path, int64(size), out) })
			if err != nil {
				return nil, err
			}
		}
		if err := r.checkDecimals(ctx, t); err != nil {
			return nil, err
		}
		return t, t.measure(file.path)
	}
}

// decideColumns gives a table its columns and their reports.
func (r *run) decideColumns(t *table, names []string, cells []columnCells) ([]decision, error) {
	by := customOf(cells)
	decisions := make([]decision, len(names))
	for i, name := range names {
		d, typ := decide(&cells[i], by), r.wantedType(name)
		if typ != "" {
			var line int64
			var ok bool
			if d, line, ok = decideAs(&cells[i], by, typ); !ok {
				return nil, refuse("%s: the cell cannot be read as %s; name it as a missing value, or give the column another type", place(t.name, line, name), typ)
			}
		}
		d.report.Name = name
		decisions[i] = d
		t.columns = append(t.columns, storage.Column{Name: name, Type: d.typ})
		t.report.Columns = append(t.report.Columns, d.report)
		if d.warning == "" {
			continue
		}
		w := storage.IngestWarning{Column: name, Message: d.warning}
		if len(d.report.MisfitLines) > 0 {
			w.Line = d.report.MisfitLines[0]
		}
		t.report.Warnings = append(t.report.Warnings, w)
	}
	return decisions, nil
}

// separator gives the separator of a file's fields.
func (r *run) separator(in input, candidates string) (byte, error) {
	if option := r.job.Options.Delimiter; option != "" {
		return option[0], nil
	}
	return chooseSeparator(in.name, in.head, candidates)
}

// read lets DuckDB parse plain numbers, dates and times while it reads the file;
// the rest is read from text, or stays text.
func (c *csvFile) read(want []string, sequential bool) (from string, exprs []string) {
	var columns strings.Builder
	for i, typ := range want {
		name := fmt.Sprintf("c%d", i)
		read, expr := c.columns[i].sql(name, typ)
		if i > 0 {
			columns.WriteString(", ")
		}
		fmt.Fprintf(&columns, "%s: %s", sqltext.Text(name), sqltext.Text(read))
		exprs = append(exprs, expr)
	}
	// DuckDB detects line ends by the first one, which without a header could be
	// within quotes. (With new_line = '\r\n' it reads no rows at all.)
	nulls := []string{"''"}
	for _, null := range c.nulls {
		nulls = append(nulls, sqltext.Text(null))
	}
	newLine := ""
	if !c.header {
		newLine = `new_line = '\n', `
	}
	return fmt.Sprintf("read_csv(%s, auto_detect = false, header = %t, delim = %s, quote = '\"', escape = '\"', nullstr = [%s], "+
		"%sstrict_mode = true, null_padding = false, max_line_size = %d, buffer_size = %d, parallel = %t, columns = {%s})",
		sqltext.Text(c.path), c.header, sqltext.Text(string(c.separator)), strings.Join(nulls, ", "), newLine, maxRecord+1000, csvBuffer, !sequential, columns.String()), exprs
}

// place names a line of a source, and a column unless it is empty.
func place(name string, line int64, column string) string {
	if column == "" {
		return fmt.Sprintf("%s, line %d", name, line)
	}
	return fmt.Sprintf("%s, line %d, column %s", name, line, quote(column))
}

// excerpt shortens a value for a message.
func excerpt(value []byte) string {
	const most = 60
	if len(value) <= most {
		return string(value)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return string(value[:cut]) + "…"
}

func quote(s string) string { return strconv.Quote(s) }

// measure takes the size of the file that DuckDB reads for that of its values.
func (t *table) measure(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("stat source: %w", err)
	}
	t.decoded = info.Size()
	return nil
}
