package ingest

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"

	"parley/internal/domain"
)

// Limits of the columns that keys of objects become.
const (
	// maxInnerDepth is how many keys a name has at most.
	maxInnerDepth = 6
	// maxInnerKeys is how many different keys the objects of a column have at most: those of more
	// are data, such as days. maxInner is how many there are in a file.
	maxInnerKeys = 200
	maxInner     = 1000
)

// innerObject reads an object, whose keys are columns where they can be.
func (f *jsonFile) innerObject(c *jsonColumn, depth int) error {
	return f.object(func(key []byte) error {
		var inner *jsonColumn
		if !c.whole && depth <= maxInnerDepth {
			inner = f.innerColumn(c, key)
		}
		if inner == nil || inner.row == f.rows+1 {
			f.keepWhole(c)
			_, err := f.value(depth + 1)
			return err
		}
		inner.row = f.rows + 1
		return f.columnValue(inner, depth+1)
	})
}

// innerColumn returns the column of a key of a column's objects, nil where it cannot be one.
func (f *jsonFile) innerColumn(of *jsonColumn, key []byte) *jsonColumn {
	if c := of.inner[string(key)]; c != nil {
		return c
	}
	name := decodeKey(string(key))
	c := of.inner[name]
	switch {
	case c != nil:
		return c
	case name == "" || len(name) > domain.MaxColumnName || strings.ContainsRune(name, 0):
		return nil
	case len(of.inner) == maxInnerKeys || f.inner == maxInner:
		of.tooMany = true
		return nil
	}
	if of.inner == nil {
		of.inner = map[string]*jsonColumn{}
	}
	f.inner++
	c = f.newColumn(of.name + "." + name)
	of.inner[name], of.innerOrder = c, append(of.innerOrder, c)
	return c
}

// keepWhole makes the objects of a column its values.
func (f *jsonFile) keepWhole(c *jsonColumn) {
	for _, inner := range c.innerOrder {
		f.keepWhole(inner)
		f.inner--
	}
	c.whole, c.inner, c.innerOrder = true, nil, nil
}

// setColumns sets the columns of the table. All objects stay whole if there would be too many.
func (f *jsonFile) setColumns() {
	f.addColumns(f.keys)
	if len(f.columns) <= domain.MaxColumns && f.run.checkDecoded(f.name, float64(f.rows)*float64(len(f.columns))*valueBytes) == nil {
		return
	}
	f.columns = nil
	for _, c := range f.keys {
		c.tooMany = c.tooMany || len(c.inner) > 0
		f.keepWhole(c)
	}
	f.addColumns(f.keys)
}

// addColumns adds columns to those of the table. Of one whose values are all objects, those of
// its keys are added. One without a value is none where others have those of its keys.
func (f *jsonFile) addColumns(columns []*jsonColumn) {
	for _, c := range columns {
		switch {
		case c.filled > c.objects || c.whole:
			f.keepWhole(c)
			f.columns = append(f.columns, c)
		case len(c.inner) > 0:
			f.addColumns(c.innerOrder)
		case !f.run.knowsInner(c.name):
			c.whole = true
			f.columns = append(f.columns, c)
		}
	}
}

// mustRewrite reports whether DuckDB reads the columns from another file: keys of objects are
// columns, or it has to read numbers as texts. It reads those of JSON as doubles, also where it
// makes texts of them.
func (f *jsonFile) mustRewrite(t *table) bool {
	must := f.inner > 0
	for i, c := range f.columns {
		c.quoted = c.exact || c.values.meets(kindExact.set()) && t.columns[i].Type != typeDouble
		must = must || c.quoted
	}
	return must
}

// rewriteJSON writes the rows of a file that was checked, with a short key for each column.
func (r *run) rewriteJSON(ctx context.Context, path string, f *jsonFile) (string, error) {
	for i, c := range f.columns {
		c.key = strconv.Itoa(i)
	}
	return r.files.RewriteTemp(path, func(from io.Reader, to io.Writer) error {
		again := &jsonFile{index: f.index, rows: f.rows, out: bufio.NewWriterSize(to, 1<<20)} // columns remember rows
		again.in = untilDone(ctx, from)
		if err := again.check(); err != nil {
			return err
		}
		return again.out.Flush()
	})
}

// writeRow writes the columns of the row that was read on a line.
func (f *jsonFile) writeRow() error {
	row := f.buf[f.start:f.pos]
	separator := byte('{')
	for _, mark := range f.marks {
		_ = f.out.WriteByte(separator) // the buffered writer keeps the error
		separator = ','
		_, _ = f.out.WriteString(`"` + mark.column.key + `":`)
		value, quote := row[mark.from:mark.to], ""
		if mark.column.quoted && (value[0] == '-' || isDigit(value[0])) {
			quote = `"`
		}
		for i, c := range value {
			if c == '\n' || c == '\r' {
				value[i] = ' ' // it is between values
			}
		}
		_, _ = f.out.WriteString(quote)
		_, _ = f.out.Write(value)
		_, _ = f.out.WriteString(quote)
	}
	if len(f.marks) == 0 {
		_ = f.out.WriteByte(separator)
	}
	f.marks = f.marks[:0]
	_, err := f.out.WriteString("}\n")
	return err
}
