package ingest

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"math/bits"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// addValue counts a value of the row, which starts at an offset and ends at pos.
func (f *jsonFile) addValue(c *jsonColumn, column, from int, kinds columnKinds) {
	raw := f.buf[f.start+from : f.pos]
	c.filled++
	c.seen.add(kind(bits.TrailingZeros32(uint32(kinds.values))), 0, f.rowNumber())
	if c.cells != nil {
		f.addCell(c.cells, raw)
	}
	if kinds.values.meets(nestedKinds) || raw[0] != '-' && !isDigit(raw[0]) {
		return
	}
	c.digits.add(raw)
	if f.out != nil && f.quoted[column] {
		f.marks = append(f.marks, from, f.pos-f.start)
	}
}

// jsonType returns the type of a column. Numbers that a double does not hold are decimals, as
// in CSV, and so are those for a column of decimals that the dataset has.
func (r *run) jsonType(f *jsonFile, t *table, column int, name string) string {
	c := &f.columns[column]
	typ := c.typ()
	isExact := typ == typeExact || typ == typeDouble && c.cells == nil && decimalPattern.MatchString(r.numberType(name))
	switch {
	case !isExact:
		if typ == typeDouble && c.digits.rounded > 0 {
			t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{Column: name, Message: rounded(c.digits.rounded)})
		}
		return typ
	case c.cells != nil: // an option gives it a type
		typ = cmp.Or(c.digits.decimal(), typeVarchar)
	default:
		typ = r.exactType(t, name, c.digits)
	}
	c.exact = typ != typeDouble
	return typ
}

// quotedColumns says of which columns DuckDB has to read numbers as texts: it reads those of
// JSON as doubles, also where it makes texts of them.
func (f *jsonFile) quotedColumns(t *table) []bool {
	quoted := make([]bool, len(f.columns))
	for i, c := range f.columns {
		quoted[i] = c.exact || c.values.meets(kindExact.set()) && t.columns[i].Type != typeDouble
	}
	return quoted
}

// quoteNumbers writes the rows of a file with the numbers of some columns in quotes.
func (r *run) quoteNumbers(ctx context.Context, path string, quoted []bool) (string, error) {
	return r.files.RewriteTemp(path, func(from io.Reader, to io.Writer) error {
		f := &jsonFile{index: map[string]int{}, folded: map[string]int{}, quoted: quoted, out: bufio.NewWriterSize(to, 1<<20),
			wanted: func(string) (string, string) { return "", "" }}
		f.in = untilDone(ctx, from)
		if err := f.check(); err != nil {
			return err
		}
		return f.out.Flush()
	})
}

// writeRow writes the row that was read, with quotes at its marks.
func (f *jsonFile) writeRow() error {
	row, at := f.buf[f.start:f.pos], 0
	for _, mark := range f.marks {
		_, _ = f.out.Write(row[at:mark]) // the buffered writer keeps the error
		_ = f.out.WriteByte('"')
		at = mark
	}
	f.marks = f.marks[:0]
	_, _ = f.out.Write(row[at:])
	return f.out.WriteByte('\n')
}

// endLine writes a file with an end of its last line: without it, DuckDB may give the last
// row before the others.
func (r *run) endLine(ctx context.Context, path string) (string, error) {
	return r.files.RewriteTemp(path, func(from io.Reader, to io.Writer) error {
		_, err := io.Copy(to, io.MultiReader(untilDone(ctx, from), strings.NewReader("\n")))
		return err
	})
}

// untilDone reads until the context ends.
func untilDone(ctx context.Context, from io.Reader) io.Reader {
	return source.ReaderFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(p)
	})
}
