package ingest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/internal/jsonscan"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest/source"
)

// jsonFile checks a file of JSON objects: an array of them, or one after the
// other.
type jsonFile struct {
	jsonScanner
	name string
	// array says that the objects are the elements of one array.
	array bool
	// anonymous files hold rows that were not in a file: messages number them.
	anonymous bool
	// lines says that every object has a line of its own.
	lines bool
	rows  int64
	// rowLine is the line on which the row starts.
	rowLine int64
	// keys are the columns of the rows' keys. Columns are those of the table, in which objects are
	// replaced by the columns of their keys.
	keys, columns []*jsonColumn
	// index finds keys as they stand in the text, folded by their names.
	index, folded map[string]*jsonColumn
	// inner is how many columns of keys of objects there are.
	inner int
	// keyBytes is the size of all keys.
	keyBytes int
	// nulls are spellings of a missing value that an option gives.
	nulls []string
	// run has the options and the columns of the dataset.
	run *run
	// whole is the key whose objects stay values, "" for none.
	whole string
	// out gets the rows as objects of the columns alone, whose values are at marks.
	out   *bufio.Writer
	marks []jsonMark
}

// jsonMark is where a value of a column is in the row.
type jsonMark struct {
	column   *jsonColumn
	from, to int
}

type jsonColumn struct {
	columnKinds
	// name is the key. One in an object has the keys of the objects around it in front.
	name string
	// key is the column's key in the file that DuckDB reads. Quoted says that its numbers are
	// texts there.
	key    string
	quoted bool
	// nulled says that a value spells a missing one.
	nulled bool
	// row is the last row that had the column, filled how many had a value in it, and objects how
	// many of these are objects.
	row, filled, objects int64
	// inner are the columns of the keys of the objects, by decoded key and in order.
	inner      map[string]*jsonColumn
	innerOrder []*jsonColumn
	// whole says that objects are values of the column, tooMany that they have too many keys for
	// columns.
	whole, tooMany bool
	// seen are the kinds of the values.
	seen columnCells
	// cells are the values as cells of CSV, nil unless an option gives the column a type;
	// converted is how they are read, nil as they are.
	cells     *columnCells
	converted *decision
	// digits are those of its numbers. Exact says that they are read from texts, with all
	// their digits.
	digits digitCount
	exact  bool
}

// checkJSON checks that a file is objects and finds its columns from all of
// them: a column for each key that any of them has.
func (r *run) checkJSON(ctx context.Context, in source.Input) (*table, error) {
	file, err := os.Open(in.Path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	f := &jsonFile{
		name: in.Name, anonymous: r.job.Rows != "", lines: true, index: map[string]*jsonColumn{}, folded: map[string]*jsonColumn{}, nulls: r.job.Options.NullValues,
		run: r, whole: in.Whole,
	}
	var reported int64
	var last byte
	f.in = source.ReaderFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := file.Read(p)
		if n > 0 {
			last = p[n-1]
		}
		r.progress.checked(int64(n), f.rows-reported)
		reported = f.rows
		return n, err
	})
	if err := f.check(); err != nil {
		return nil, err
	}
	r.progress.checked(0, f.rows-reported)
	t := &table{name: in.Name, rows: f.rows}
	f.setColumns()
	names, err := f.names(&t.report)
	if err != nil {
		return nil, err
	}
	for i, c := range f.columns {
		typ := r.jsonType(c, t, names[i])
		t.columns = append(t.columns, domain.Column{Name: names[i], Type: typ})
		report := domain.ColumnReport{Name: names[i], Type: typ, Missing: f.rows - c.filled}
		if c.converted != nil {
			report.From = c.converted.from
		}
		t.report.Columns = append(t.report.Columns, report)
		if c.cells == nil {
			f.noteMisfits(t, i)
		}
	}
	if len(t.columns) == 0 && t.rows > 0 {
		return nil, refuse("%s: its objects have no keys", in.Name)
	}
	form := "unstructured"
	switch {
	case f.array:
		form = "array"
	case f.lines:
		form = "newline_delimited"
	}
	if f.mustRewrite(t) {
		form = "newline_delimited"
		in.Path, err = r.rewriteJSON(ctx, in.Path, f)
	} else if form == "newline_delimited" && last != '\n' {
		in.Path, err = r.endLine(ctx, in.Path)
	}
	if err != nil {
		return nil, err
	}
	t.read = func(want []string, _ bool) (string, []string) { return f.read(in.Path, form, want) }
	if err := r.convertJSON(ctx, f, t); err != nil {
		return nil, err
	}
	return t, t.measure(in.Path)
}

// names returns the names of the columns, which are the keys, changed as the fields of a header are.
func (f *jsonFile) names(report *domain.IngestReport) ([]string, error) {
	keys := make([]string, len(f.columns))
	for i, c := range f.columns {
		keys[i] = c.name
	}
	names, warnings, err := columnNames(f.name, keys)
	report.Warnings = warnings
	for i, c := range f.columns {
		if c.tooMany && err == nil {
			report.Warnings = append(report.Warnings, domain.IngestWarning{Column: names[i], Message: "the objects of the column have too many different keys for columns, and stay JSON"})
		}
	}
	return names, err
}

// read returns the SQL that reads the file with the types that are wanted.
func (f *jsonFile) read(path, form string, want []string) (from string, exprs []string) {
	keys, types := make([]domain.Column, len(f.columns)), slices.Clone(want)
	for i, c := range f.columns {
		if keys[i].Name = cmp.Or(c.key, c.name); c.nulled || c.converted != nil || c.exact {
			types[i] = typeVarchar
		}
	}
	from, exprs = readJSON(path, form, keys, types)
	for i, c := range f.columns {
		switch {
		case c.converted != nil:
			exprs[i] = c.converted.sqlJSON(exprs[i], f.nulls, want[i])
		case c.nulled:
			exprs[i] = readUnlessNull(exprs[i], f.nulls, want[i])
		case c.exact:
			exprs[i] = convert(exprs[i], typeVarchar, want[i])
		}
	}
	return from, exprs
}

// readUnlessNull returns the SQL that reads a text as a type, unless it spells a missing value.
func readUnlessNull(cell string, nulls []string, typ string) string {
	list := make([]string, len(nulls))
	for i, null := range nulls {
		list[i] = sqltext.Text(null)
	}
	value := fmt.Sprintf("CASE WHEN %s NOT IN (%s) THEN %s END", cell, strings.Join(list, ", "), cell)
	if isNested(typ) {
		value = fmt.Sprintf("CAST(%s AS JSON)", value)
	}
	return fmt.Sprintf("CAST(%s AS %s)", value, physical(typ))
}

// readJSON returns the SQL that reads a JSON file with the types that are wanted.
func readJSON(path, form string, columns []domain.Column, want []string) (from string, exprs []string) {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = sqltext.Text(c.Name) + ": " + sqltext.Text(physical(want[i]))
		exprs = append(exprs, sqltext.Name(c.Name))
	}
	return fmt.Sprintf("read_json(%s, format = %s, records = true, maximum_object_size = %d, columns = {%s})",
		sqltext.Text(path), sqltext.Text(form), source.MaxValue+1024, strings.Join(list, ", ")), exprs
}

// check reads all rows.
func (f *jsonFile) check() error {
	c, err := f.next()
	if err == nil && c == '[' {
		f.array = true
		f.pos++
		c, err = f.next()
	}
	for err == nil && !(f.array && c == ']') {
		if err := f.row(c); err != nil {
			return err
		}
		c, err = f.nextRow()
	}
	switch {
	case err == errEnd && f.array:
		return f.wrong("the array is not closed")
	case err == nil:
		f.pos++
		if _, err = f.next(); err == nil {
			return refuse("%s, line %d: there is more text after the array", f.name, f.line+1)
		}
	}
	if err == errEnd {
		return nil
	}
	return err
}

// next skips blanks between rows and returns the byte that follows.
func (f *jsonFile) next() (byte, error) {
	c, err := f.peek()
	f.rowLine = f.line
	if err == nil && c == 0 {
		err = f.wrong("it holds binary data")
	}
	return c, err
}

// nextRow goes from the end of a row to the start of the next one, or to the end
// of the array.
func (f *jsonFile) nextRow() (byte, error) {
	end := f.line
	c, err := f.next()
	switch {
	case err != nil || f.array && c == ']':
		return c, err
	case !f.array:
		f.lines = f.lines && f.line > end
		return c, nil
	case c != ',':
		return 0, f.wrong("a comma is missing before it")
	}
	f.pos++
	if c, err = f.next(); err == errEnd || c == ']' {
		err = f.wrong("it is missing after a comma")
	}
	return c, err
}

// row reads the row that starts with c.
func (f *jsonFile) row(c byte) error {
	if c != '{' {
		return f.notObject(c)
	}
	f.start, f.inRow = f.pos, true
	err := f.object(f.member)
	f.inRow = false
	var bad *jsonError
	switch {
	case errors.As(err, &bad):
		f.rowLine = f.line
		return f.wrong("it is not JSON: " + bad.reason)
	case err == errEnd:
		return f.wrong("the file ends in the middle of it")
	case err == errTooBig:
		return f.wrong(fmt.Sprintf("it is longer than %d bytes", source.MaxValue))
	case err != nil:
		return err
	case !utf8.Valid(f.buf[f.start:f.pos]):
		return notUTF8(f.where())
	}
	f.lines = f.lines && f.line == f.rowLine
	f.rows++
	if f.out != nil {
		return f.writeRow()
	}
	return nil
}

// member reads the value of a key.
func (f *jsonFile) member(key []byte) error {
	c, known := f.index[string(key)]
	if !known {
		var err error
		if c, err = f.addKey(string(key)); err != nil {
			return err
		}
	}
	if c.row == f.rows+1 {
		return f.wrong("it has the key " + quote(c.name) + " twice")
	}
	c.row = f.rows + 1
	return f.columnValue(c, 2)
}

// columnValue reads a value of a column, at a depth in the row.
func (f *jsonFile) columnValue(c *jsonColumn, depth int) error {
	first, err := f.peek()
	if err != nil {
		return err
	}
	from := f.pos - f.start
	if first == '{' && f.out != nil && !c.whole {
		return f.innerObject(c, depth)
	}
	var kinds columnKinds
	if first == '{' && !c.whole {
		kinds.values, err = kindNested.set(), f.innerObject(c, depth)
	} else {
		kinds, err = f.value(depth)
	}
	if err == nil && len(f.nulls) > 0 && f.spellsNull(f.buf[f.start+from:f.pos], kinds) {
		kinds, c.nulled = columnKinds{}, true
	}
	switch {
	case kinds.values == 0 || err != nil:
	case f.out != nil && c.key != "":
		f.marks = append(f.marks, jsonMark{c, from, f.pos - f.start})
	case f.out != nil:
	default:
		if first == '{' {
			c.objects++
		}
		f.addValue(c, from, kinds)
	}
	c.values |= kinds.values
	c.elements |= kinds.elements
	return err
}

// spellsNull reports whether a value, a text or a whole number, spells a missing one.
func (f *jsonFile) spellsNull(raw []byte, kinds columnKinds) bool {
	text := string(raw)
	if raw[0] == '"' {
		if json.Unmarshal(raw, &text) != nil {
			return false
		}
	} else if kinds.values.plain() != kindInt.set() {
		return false
	}
	return slices.Contains(f.nulls, text)
}

// decodeKey returns the name of a key as it stands in the text.
func decodeKey(key string) string { return string(jsonscan.Unquote([]byte(`"` + key + `"`))) }

// addKey adds the column of a key that was not seen in this spelling: a
// column can be spelt with and without escapes.
func (f *jsonFile) addKey(key string) (*jsonColumn, error) {
	name := decodeKey(key)
	if name == "" {
		return nil, f.wrong("it has an empty key")
	}
	if !utf8.ValidString(key) {
		return nil, notUTF8(f.where())
	}
	if f.anonymous {
		if err := checkColumnName(f.where(), name); err != nil {
			return nil, err
		}
	}
	// The keys together are limited as a header is.
	if f.keyBytes += len(name); f.keyBytes > source.MaxValue {
		return nil, f.wrong(fmt.Sprintf("the keys of the rows are longer than %d bytes together", source.MaxValue))
	}
	c, taken := f.folded[domain.FoldColumn(name)]
	switch {
	case taken && c.name != name:
		return nil, f.wrong(fmt.Sprintf("the keys %s and %s differ only in case, and would be one column; rename one of them", quote(c.name), quote(name)))
	case !taken && len(f.keys) == domain.MaxColumns:
		return nil, f.wrong(fmt.Sprintf("the rows have more than %d different keys", domain.MaxColumns))
	case !taken:
		c = f.newColumn(name)
		f.folded[domain.FoldColumn(name)] = c
		f.keys = append(f.keys, c)
	}
	f.index[key] = c
	return c, nil
}

// newColumn makes a column. Objects stay whole where an option gives them a type, or the dataset
// or a table before has a column of them.
func (f *jsonFile) newColumn(name string) *jsonColumn {
	c := &jsonColumn{name: name}
	if typ, order := f.run.wantedDate(name); typ != "" {
		c.cells = &columnCells{yearFirst: order == yearFirst}
	}
	c.whole = c.cells != nil || name == f.whole || f.run.knownType(name) != ""
	return c
}

// where names the row that is being read.
func (f *jsonFile) where() string {
	switch {
	case f.anonymous:
		return fmt.Sprintf("row %d", f.rows+1)
	case f.array:
		return fmt.Sprintf("%s, row %d", f.name, f.rows+1)
	}
	return position(f.name, f.rowLine+1, "")
}

func (f *jsonFile) wrong(reason string) error { return refuse("%s: %s", f.where(), reason) }

func (f *jsonFile) notObject(c byte) error {
	switch {
	case c == '[':
		return f.wrong("it is a list, not an object")
	case c == '"':
		return f.wrong("it is a string, not an object")
	case c == '-' || isDigit(c):
		return f.wrong("it is a number, not an object")
	case c == 't' || c == 'f' || c == 'n':
		return f.wrong("it is true, false or null, not an object")
	}
	return f.wrong("it is not JSON")
}

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
	d := decideText(seen, conventions{}, values, cellFormats(values, conventions{}))
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

// convertJSON sets the types of columns that options give them, where their values are not of
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
		c := f.columns[i]
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

// addValue counts a value of the row, which starts at an offset and ends at pos.
func (f *jsonFile) addValue(c *jsonColumn, from int, kinds columnKinds) {
	raw := f.buf[f.start+from : f.pos]
	c.filled++
	k, word := kind(bits.TrailingZeros32(uint32(kinds.values))), form(0)
	if k == kindWord {
		_, word = stringWord(raw[1 : len(raw)-1])
	}
	c.seen.add(k, word, f.rowNumber())
	if c.cells != nil {
		f.addCell(c.cells, raw)
	}
	if kinds.values.meets(nestedKinds) || raw[0] != '-' && !isDigit(raw[0]) {
		return
	}
	c.digits.add(raw)
}

// jsonType returns the type of a column. Numbers that a double does not hold are decimals, as
// in CSV, and so are those for a column of decimals that the dataset has. Words for true and
// false are booleans as in CSV, too.
func (r *run) jsonType(c *jsonColumn, t *table, name string) string {
	typ := c.typ()
	if c.values == kindWord.set() && c.cells == nil {
		d := decide(&c.seen, conventions{booleans: r.knownType(name) == typeBoolean})
		if d.warning != "" {
			t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{Column: name, Message: d.warning})
		}
		if d.typ == typeBoolean {
			c.converted, typ = &d, d.typ
		}
	}
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
