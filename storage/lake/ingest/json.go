package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"parley/storage"
)

// maxObject is the most bytes a row of JSON may have.
const maxObject = 16 << 20

// jsonFile is a file of JSON objects while it is checked: an array of them, or
// one after the other.
type jsonFile struct {
	name string
	in   io.Reader
	buf  []byte
	pos  int
	eof  bool
	// marked says that the file starts with a byte order mark.
	marked bool
	// array says that the objects are the elements of one array.
	array bool
	// anonymous files hold rows that were not in a file: messages count them.
	anonymous bool
	// lines says that every object has a line of its own.
	lines   bool
	line    int64
	rows    int64
	columns []jsonColumn
	index   map[string]int
	folded  map[string]string
	attempt int64
	pending []jsonMember
}

type jsonColumn struct {
	name string
	seen kindSet
	// elements are the kinds of the values inside lists.
	elements kindSet
	// attempt is the last reading of a row that had the column.
	attempt int64
}

type jsonMember struct {
	column int
	value  jsonValue
}

// checkJSON proves that a file is objects and learns its columns from all of
// them: a column for each key that any of them has.
func (r *run) checkJSON(ctx context.Context, path, name string) (*table, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer in.Close()
	f := &jsonFile{
		name: name, in: in, buf: make([]byte, 0, 1<<20), anonymous: r.job.Rows != "", lines: true,
		index: map[string]int{}, folded: map[string]string{},
	}
	if err := f.check(ctx, r.progress.checked); err != nil {
		return nil, err
	}
	t := &table{name: name, rows: f.rows}
	for i := range f.columns {
		c := &f.columns[i]
		t.columns = append(t.columns, storage.Column{Name: c.name, Type: c.typ()})
	}
	if len(t.columns) == 0 && t.rows > 0 {
		return nil, refuse("%s: its objects have no keys", name)
	}
	form := "unstructured"
	switch {
	case f.array:
		form = "array"
	case f.lines:
		form = "newline_delimited"
	}
	if f.marked {
		// DuckDB's JSON reader refuses a byte order mark.
		if path, err = r.copyFrom(path, int64(len(byteOrderMark))); err != nil {
			return nil, err
		}
	}
	t.read = func(want []string, _ bool) (string, []string) { return readJSON(path, form, t.columns, want) }
	return t, t.measure(path)
}

// check reads all rows.
func (f *jsonFile) check(ctx context.Context, checked func(bytes, rows int64)) error {
	if err := f.open(); err != nil {
		return err
	}
	var told, toldRows int64
	var read int64
	for {
		if f.rows&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			checked(read-told, f.rows-toldRows)
			told, toldRows = read, f.rows
		}
		more, err := f.next()
		if err != nil {
			return err
		}
		if !more {
			checked(read-told, f.rows-toldRows)
			return nil
		}
		n, err := f.row()
		if err != nil {
			return err
		}
		read += int64(n)
	}
}

// open skips a byte order mark and finds out whether the file is an array.
func (f *jsonFile) open() error {
	if err := f.fill(); err != nil {
		return err
	}
	if bytes.HasPrefix(f.buf, []byte(byteOrderMark)) {
		f.marked = true
		f.pos = len(byteOrderMark)
	}
	if c, err := f.peek(); err != nil || c != '[' {
		return err
	}
	f.array = true
	f.pos++
	return nil
}

// next goes to where the next row starts, if there is one.
func (f *jsonFile) next() (bool, error) {
	before := f.line
	c, err := f.peek()
	switch {
	case err != nil:
		return false, err
	case !f.array:
		f.lines = f.lines && (f.rows == 0 || f.line > before)
		return c != 0, nil
	case c == 0:
		return false, f.wrong("the array is not closed")
	case c == ']':
		f.pos++
		if c, err = f.peek(); err == nil && c != 0 {
			err = refuse("%s, line %d: there is more text after the array", f.name, f.line+1)
		}
		return false, err
	case f.rows > 0 && c != ',':
		return false, f.wrong("a comma is missing before it")
	case f.rows > 0:
		f.pos++
		if c, err = f.peek(); err == nil && (c == ']' || c == 0) {
			err = f.wrong("it is missing after a comma")
		}
	}
	return err == nil, err
}

// peek skips blanks and gives the byte that follows, 0 at the end.
func (f *jsonFile) peek() (byte, error) {
	for {
		for ; f.pos < len(f.buf); f.pos++ {
			switch c := f.buf[f.pos]; c {
			case '\n':
				f.line++
			case ' ', '\t', '\r':
			case 0:
				return 0, f.wrong("it holds binary data")
			default:
				return c, nil
			}
		}
		if f.eof {
			return 0, nil
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
}

// row reads the row that starts at pos.
func (f *jsonFile) row() (size int, err error) {
	if c := f.buf[f.pos]; c != '{' {
		return 0, f.notObject(c)
	}
	for {
		f.attempt++
		f.pending = f.pending[:0]
		s := &jsonScanner{buf: f.buf[f.pos:]}
		err := s.object(func(key []byte) error { return f.member(s, key) })
		var bad *jsonError
		switch {
		case err == nil:
			return s.pos, f.commit(s.buf[:s.pos])
		case errors.As(err, &bad):
			f.line += int64(bytes.Count(s.buf[:s.pos], []byte{'\n'}))
			return 0, f.wrong("it is not JSON: " + bad.reason)
		case !errors.Is(err, errPartial):
			return 0, err
		case f.eof:
			return 0, f.wrong("the file ends in the middle of it")
		case len(f.buf)-f.pos >= maxObject:
			return 0, f.wrong(fmt.Sprintf("it is longer than %d bytes", maxObject))
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
}

// member reads a key's value and keeps it until the row is whole.
func (f *jsonFile) member(s *jsonScanner, key []byte) error {
	i, known := f.index[string(key)]
	if !known {
		var err error
		if i, err = f.addColumn(key); err != nil {
			return err
		}
	}
	if f.columns[i].attempt == f.attempt {
		return f.wrong("it has the key " + quote(f.columns[i].name) + " twice")
	}
	f.columns[i].attempt = f.attempt
	value, err := s.value(2)
	if err == nil && !value.null {
		f.pending = append(f.pending, jsonMember{i, value})
	}
	return err
}

// addColumn makes a column of a key, which is as it stands in the text.
func (f *jsonFile) addColumn(key []byte) (int, error) {
	name := string(key)
	if bytes.IndexByte(key, '\\') >= 0 {
		if err := json.Unmarshal([]byte(`"`+name+`"`), &name); err != nil {
			return 0, fmt.Errorf("decode key: %w", err)
		}
	}
	if name == "" {
		return 0, f.wrong("it has an empty key")
	}
	if !utf8.Valid(key) {
		return 0, f.wrong("it is not UTF-8 text; save the file as UTF-8")
	}
	if err := checkColumnName(f.where(), name); err != nil {
		return 0, err
	}
	// The same key can be spelt with and without escapes.
	for i := range f.columns {
		if f.columns[i].name == name {
			f.index[string(key)] = i
			return i, nil
		}
	}
	if other, taken := f.folded[fold(name)]; taken {
		return 0, f.wrong(fmt.Sprintf("the keys %s and %s differ only in case, and would be one column", quote(other), quote(name)))
	}
	if len(f.columns) == storage.MaxColumns {
		return 0, f.wrong(fmt.Sprintf("the rows have more than %d different keys", storage.MaxColumns))
	}
	f.folded[fold(name)] = name
	f.index[string(key)] = len(f.columns)
	f.columns = append(f.columns, jsonColumn{name: name})
	return len(f.columns) - 1, nil
}

// commit notes the values of a row that is whole.
func (f *jsonFile) commit(row []byte) error {
	if !utf8.Valid(row) {
		return f.wrong("it is not UTF-8 text; save the file as UTF-8")
	}
	for _, m := range f.pending {
		c := &f.columns[m.column]
		c.seen.add(m.value.kind)
		c.elements |= m.value.elements
	}
	ends := int64(bytes.Count(row, []byte{'\n'}))
	f.lines = f.lines && ends == 0
	f.line += ends
	f.rows++
	f.pos += len(row)
	return nil
}

// where names the row that is being read.
func (f *jsonFile) where() string {
	if f.array || f.anonymous {
		return f.at(f.rows)
	}
	return f.at(f.line)
}

func (f *jsonFile) at(index int64) string {
	switch {
	case f.anonymous:
		return fmt.Sprintf("row %d", index+1)
	case f.array:
		return fmt.Sprintf("%s, row %d", f.name, index+1)
	}
	return fmt.Sprintf("%s, line %d", f.name, index+1)
}

func (f *jsonFile) wrong(reason string) error { return refuse("%s: %s", f.where(), reason) }

func (f *jsonFile) notObject(c byte) error {
	what := ""
	switch {
	case c == '[':
		what = "a list"
	case c == '"':
		what = "a string"
	case c == '-' || isDigit(c):
		what = "a number"
	case strings.IndexByte("tfn", c) >= 0:
		what = "true, false or null"
	}
	if what == "" {
		return f.wrong("it is not JSON")
	}
	return f.wrong("it is " + what + ", not an object")
}

// fill reads more, keeping what is not used up.
func (f *jsonFile) fill() error {
	if f.pos > 0 {
		f.buf = f.buf[:copy(f.buf, f.buf[f.pos:])]
		f.pos = 0
	}
	if len(f.buf) == cap(f.buf) {
		f.buf = append(make([]byte, 0, 2*cap(f.buf)), f.buf...)
	}
	n, err := io.ReadFull(f.in, f.buf[len(f.buf):cap(f.buf)])
	f.buf = f.buf[:len(f.buf)+n]
	f.eof = err == io.EOF || err == io.ErrUnexpectedEOF
	if err != nil && !f.eof {
		return fmt.Errorf("read source: %w", err)
	}
	return nil
}
