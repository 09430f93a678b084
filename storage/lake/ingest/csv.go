package ingest

import (
	"bytes"
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

// csvFile is a CSV or TSV file that has been checked.
type csvFile struct {
	path      string
	separator byte
	// header says that the file's first record names the columns.
	header bool
	names  []string
	// found are the families of the columns' values, nil for text.
	found []*family
}

// checkCSV proves that a file is rows of equally many fields below a header, and
// learns the types of its columns from all of them. Fields are separated by the
// candidate that fits.
func checkCSV(candidates string) func(*run, context.Context, input) (*table, error) {
	return func(r *run, ctx context.Context, in input) (*table, error) {
		separator, err := chooseSeparator(in.name, in.head, candidates)
		if err != nil {
			return nil, err
		}
		return r.checkCSV(ctx, in.path, in.name, in.head, separator)
	}
}

func (r *run) checkCSV(ctx context.Context, path, name string, head []byte, separator byte) (*table, error) {
	const mark = 0
	var err error
	if err != nil {
		return nil, err
	}
	fields, size, lines, err := headerRecord(name, head[mark:], separator)
	if err != nil {
		return nil, err
	}
	names, err := columnNames(name, fields)
	if err != nil {
		return nil, err
	}
	scanner := newCSVScanner(separator, names)
	offset := int64(mark + size)
	whole, err := scanner.scanFile(ctx, path, offset, r.progress.checked)
	if err != nil {
		return nil, err
	}
	if p := whole.wrong; p != nil {
		return nil, refuse("%s: %s", place(name, lines+p.line+1, p.column), p.reason)
	}

	file := &csvFile{path: path, separator: separator, header: true, names: names, found: make([]*family, len(names))}
	t := &table{name: name, rows: whole.rows, read: file.read, columns: make([]storage.Column, len(names))}
	for i := range names {
		seen := whole.columns[i].seen
		file.found[i] = familyOf(seen)
		t.columns[i] = storage.Column{Name: names[i], Type: csvType(seen, file.found[i])}
	}
	// DuckDB's reader is strict about line ends and has its own mind about
	// blank lines and quotes out of place.
	if whole.blank || whole.stray || lines > 1 || !endsAlike(head[mark:mark+size], whole) {
		file.header = false
		file.path, err = r.writeTemp(func(out io.Writer) error { return scanner.rewrite(ctx, path, offset, out) })
		if err != nil {
			return nil, err
		}
	}
	return t, t.measure(file.path)
}

// endsAlike reports whether the header's line ends as the other lines do.
func endsAlike(header []byte, rows *csvBlock) bool {
	if bytes.HasSuffix(header, []byte("\r\n")) {
		return rows.bare == 0
	}
	return rows.paired == 0
}

func csvType(seen kindSet, f *family) string {
	switch {
	case seen == 0:
		return typeNull
	case f == nil:
		return typeVarchar
	}
	return f.typ
}

// read has DuckDB parse numbers, dates and times while it reads the file, and
// leaves the rest as the text it is.
func (c *csvFile) read(want []string, careful bool) (from string, exprs []string) {
	var columns strings.Builder
	for i, typ := range want {
		name := fmt.Sprintf("c%d", i)
		expr := name
		read := typeVarchar
		switch f := c.found[i]; {
		case f == nil:
			expr = convert(name, typeVarchar, typ)
		case physical(typ) == typeVarchar:
		case f.layout != "":
			expr = fmt.Sprintf("CAST(strptime(translate(trim(%s), '-.', '//'), %s) AS %s)", name, sqltext.Text(f.layout), typ)
		default:
			read = typ
		}
		if i > 0 {
			columns.WriteString(", ")
		}
		fmt.Fprintf(&columns, "%s: %s", sqltext.Text(name), sqltext.Text(read))
		exprs = append(exprs, expr)
	}
	// DuckDB takes the end of the first line for that of all. Without a header
	// it could be one within quotes. (Given CR LF, it reads no rows at all.)
	newLine := ""
	if !c.header {
		newLine = `new_line = '\n', `
	}
	return fmt.Sprintf("read_csv(%s, auto_detect = false, header = %t, delim = %s, quote = '\"', escape = '\"', nullstr = '', "+
		"%sstrict_mode = true, null_padding = false, max_line_size = %d, buffer_size = %d, parallel = %t, columns = {%s})",
		sqltext.Text(c.path), c.header, sqltext.Text(string(c.separator)), newLine, maxRecord+1000, csvBuffer, !careful, columns.String()), exprs
}

// place says where in a source something is.
func place(name string, line int64, column string) string {
	if column == "" {
		return fmt.Sprintf("%s, line %d", name, line)
	}
	return fmt.Sprintf("%s, line %d, column %s", name, line, quote(column))
}

// excerpt is as much of a value as a message shows.
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

// measure notes how large the file is that DuckDB will read.
func (t *table) measure(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at source: %w", err)
	}
	t.bytes = info.Size()
	t.content, t.decoded = t.bytes, t.bytes
	return nil
}
