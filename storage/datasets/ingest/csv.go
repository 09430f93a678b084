package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest/source"
)

// csvFile is a checked CSV or TSV file.
type csvFile struct {
	path      string
	separator byte
	// header says that the file's first record names the columns.
	header bool
	// columns are what the columns became.
	columns []decision
	// nulls are further spellings of a missing value, which an option gives.
	nulls []string
}

// checkCSV checks that a file is rows of equally many fields below a header, and
// finds the types of its columns from all of them. Fields are separated by the
// candidate that fits.
func checkCSV(candidates string) func(*run, context.Context, source.Input) (*table, error) {
	return func(r *run, ctx context.Context, in source.Input) (*table, error) {
		separator, headerRow := byte(','), in.HeaderRow
		if headerRow == nil {
			var err error
			if separator, err = r.separator(in, candidates); err != nil {
				return nil, err
			}
			headerRow = r.job.Options.HeaderRow
		}
		header, err := readHeader(in, separator, headerRow, r.job.Have)
		if err != nil {
			return nil, err
		}
		names, warnings, err := columnNames(in.Name, header.fields)
		if err != nil {
			return nil, err
		}
		var notes csvNotes
		if len(names) > 1 {
			if notes, err = readNotes(in.Path, separator, len(names)); err != nil {
				return nil, err
			}
		}
		file := &csvFile{separator: separator, nulls: r.job.Options.NullValues}
		if len(notes.lines) > 0 {
			if in.Path, err = r.cutFile(in.Path, notes.offset); err != nil {
				return nil, err
			}
		}
		t, whole, err := r.checkTotals(ctx, in, header, names, file)
		if err != nil {
			return nil, err
		}
		if in.HeaderRow == nil {
			t.report.Delimiter = string(separator)
		}
		t.report.Warnings = slices.Concat(header.warnings, warnings, t.report.Warnings)
		if len(notes.lines) > 0 {
			t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{
				Line:    whole.lines + int64(notes.blank) + 1,
				Message: fmt.Sprintf("%s below the table not read: %s", source.Count(len(notes.lines), "line"), source.Excerpt(strings.Join(notes.lines, " "))),
			})
		}
		t.report.Warnings = append(t.report.Warnings, rowWarnings(whole)...)
		return t, t.measure(file.path)
	}
}

// cutFile copies the first bytes of a file.
func (r *run) cutFile(path string, size int64) (string, error) {
	return r.files.RewriteTemp(path, func(from io.Reader, to io.Writer) error {
		_, err := io.CopyN(to, from, size)
		return err
	})
}

// checkRows checks the rows below a header, decides the types of their columns, and has the
// file read them.
func (r *run) checkRows(ctx context.Context, in source.Input, header csvHeader, names []string, file *csvFile) (*table, *csvBlock, error) {
	scanner := newCSVScanner(file.separator, names)
	for _, null := range file.nulls {
		scanner.nulls = append(scanner.nulls, []byte(null))
	}
	for _, name := range names {
		_, order := r.wantedDate(name)
		scanner.yearFirst = append(scanner.yearFirst, order == yearFirst)
	}
	whole, size := *header.block, int64(header.size)
	whole.columns, whole.rows = make([]columnCells, len(names)), 0
	if err := scanner.scanFile(ctx, in.Path, size, &whole, r.progress.checked); err != nil {
		return nil, nil, err
	}
	if p := whole.problem; p != nil && p.encoding {
		return nil, nil, notUTF8(position(in.Name, p.line+1, ""))
	} else if p != nil {
		return nil, nil, refuse("%s: %s", position(in.Name, p.line+1, p.column), p.reason)
	}
	file.path, file.header = in.Path, true
	t := &table{name: in.Name, rows: whole.rows, read: file.read}
	t.report.HeaderRow = header.row
	var err error
	if file.columns, err = r.decideColumns(t, names, whole.columns, file.separator, in.Forms); err != nil {
		return nil, nil, err
	}
	// DuckDB reads one kind of line end, and has its own rules for blank
	// lines and stray quotes.
	if whole.blank || whole.empty > 0 || whole.stray || !header.plain || whole.lf && whole.crlf {
		file.header = false
		file.path, err = r.files.WriteTemp(func(out io.Writer) error { return scanner.rewrite(ctx, in.Path, size, out) })
		if err != nil {
			return nil, nil, err
		}
	}
	if err := r.fitDigits(ctx, t, file); err != nil {
		return nil, nil, err
	}
	return t, &whole, r.checkFit(ctx, t)
}

// decideColumns sets the columns of a table and their reports. Forms are the formats that units come from.
func (r *run) decideColumns(t *table, names []string, cells []columnCells, separator byte, forms []string) ([]decision, error) {
	by := conventionsOf(cells)
	by.semicolons = separator == ';'
	decisions := make([]decision, len(names))
	for i, name := range names {
		typ, order := r.wantedDate(name)
		by.booleans = r.knownType(name) == typeBoolean
		d := decide(&cells[i], by)
		if have := r.numberType(name); typ == "" && have != "" && by.ambiguous(cells[i].kinds()) {
			if as, _, ok := decideAs(&cells[i], by, have); ok {
				d = as
			}
		}
		if typ == "" && d.typ == typeDouble && !cells[i].kinds().meets(kindSpecial.set()) && decimalPattern.MatchString(r.numberType(name)) {
			d.typ, d.warning = typeExact, "" // as the dataset's
		}
		if typ != "" {
			var line int64
			var ok bool
			if d, line, ok = decideAs(&cells[i], by.ordered(order), typ); !ok {
				return nil, refuse("%s: %s", position(t.name, line, name), misfit(typ, order))
			}
		}
		if d.report.Name = name; d.unit != "" && i < len(forms) {
			d.report.From = forms[i]
		}
		decisions[i] = d
		t.columns = append(t.columns, domain.Column{Name: name, Type: d.typ})
		t.report.Columns = append(t.report.Columns, d.report)
		t.spelled = append(t.spelled, d.spelled)
		if d.warning == "" {
			continue
		}
		w := domain.IngestWarning{Column: name, Line: d.line, Message: d.warning}
		if len(d.report.MisfitLines) > 0 {
			w.Line = d.report.MisfitLines[0]
		}
		t.report.Warnings = append(t.report.Warnings, w)
	}
	return decisions, nil
}

// separator returns the separator of a file's fields.
func (r *run) separator(in source.Input, candidates string) (byte, error) {
	if option := r.job.Options.Delimiter; option != "" {
		return option[0], nil
	}
	if separator, ok := separatorLine(in.Head); ok {
		return separator, nil
	}
	return chooseSeparator(in.Name, in.Head, candidates)
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

// position names a line of a source, and a column unless it is empty.
func position(name string, line int64, column string) string {
	if column == "" {
		return fmt.Sprintf("%s, line %d", name, line)
	}
	return fmt.Sprintf("%s, line %d, column %s", name, line, quote(column))
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

// dialectRecords is how many records decide the separator.
const dialectRecords = 200

// separatorNames are the separators' names in messages.
var separatorNames = map[byte]string{',': "commas", ';': "semicolons", '\t': "tabs", '|': "bars"}

// chooseSeparator returns the candidate that cuts the head's records into equally
// many fields, the most of them; else one that does so below a title. Where none
// does, it gives the one that cuts the header into the most, and the scan finds
// the ragged line. It refuses a file of one column whose lines are all cut by
// something else.
func chooseSeparator(name string, head []byte, candidates string) (byte, error) {
	for _, fits := range []func(records []csvRecord) int{uniformFields, titledFields, firstFields} {
		best, most := byte(0), 1
		for _, c := range []byte(candidates) {
			if fields := fits(headRecords(head, c)); fields > most {
				best, most = c, fields
			}
		}
		if most > 1 {
			return best, nil
		}
	}
	for _, c := range []byte(",;\t|:^~\x01\x1f") {
		records := headRecords(head, c)
		if uniformFields(records) > 1 && len(records) > 1 && strings.IndexByte(candidates, c) < 0 {
			return 0, refuse("%s would have a single column, but all its lines are cut by %s: its fields must be separated by %s",
				name, cmp.Or(separatorNames[c], quote(string(rune(c)))), listSeparators(candidates))
		}
	}
	return candidates[0], nil
}

// firstFields counts the fields of the first record.
func firstFields(records []csvRecord) int {
	if len(records) == 0 {
		return 0
	}
	return len(records[0].fields)
}

// uniformFields counts the fields of the records, 0 where they differ.
func uniformFields(records []csvRecord) int {
	for _, r := range records {
		if len(r.fields) != len(records[0].fields) {
			return 0
		}
	}
	return firstFields(records)
}

// titledFields counts the fields below a title or comments, 0 without them.
func titledFields(records []csvRecord) int {
	if h := headerIndex(records); h > 0 {
		return len(records[h].fields)
	}
	return 0
}

func listSeparators(candidates string) string {
	var names []string
	for _, c := range []byte(candidates) {
		names = append(names, separatorNames[c])
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// csvRecord is a record in the head of a file.
type csvRecord struct {
	fields []string
	// line is where the record begins, from 0.
	line int64
}

// headRecords returns the head's first records, without the one that the head cuts
// off.
func headRecords(head []byte, separator byte) []csvRecord {
	var records []csvRecord
	s := newCSVScanner(separator, nil)
	b := s.newBlock()
	s.onField = func(column int, field []byte, _, _ bool) {
		if column == 0 {
			records = append(records, csvRecord{line: b.lines})
		}
		r := &records[len(records)-1]
		r.fields = append(r.fields, unquote(field))
	}
	s.scan(b, head, len(head) < source.HeadSize, dialectRecords)
	return records[:b.rows]
}

// unquote returns the value of a field as it stands in the text.
func unquote(field []byte) string {
	if len(field) > 1 && field[0] == '"' {
		field = bytes.ReplaceAll(field[1:len(field)-1], []byte(`""`), []byte(`"`))
	}
	return string(field)
}

// columnNames makes distinct names of a header's fields: empty ones become
// column_N, repeated ones get a number, long ones are cut and get a hash, and underscores that begin the
// names of internal columns are left out. Names that differ only in case are equal.
func columnNames(file string, fields []string) ([]string, []domain.IngestWarning, error) {
	unique, seen := source.Names{Fold: domain.FoldColumn}, map[string]bool{}
	for _, field := range fields {
		unique.Reserve(field)
	}
	names := make([]string, len(fields))
	var warnings []domain.IngestWarning
	var renamed []string
	for i, field := range fields {
		if !utf8.ValidString(field) {
			return nil, nil, notUTF8(file)
		}
		name, isLong := field, utf8.RuneCountInString(field) > domain.MaxColumnName
		if isLong {
			// Numbers would depend on the order, and the next file may have another one.
			sum := sha256.Sum256([]byte(domain.FoldColumn(field)))
			name = domain.CutColumnName(name, fmt.Sprintf("_%x", sum[:4]))
		}
		if strings.HasPrefix(name, "__") {
			name = strings.TrimLeft(name, "_")
		}
		if strings.TrimSpace(name) == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		if err := checkColumnName(file, name); err != nil {
			return nil, nil, err
		}
		if key := domain.FoldColumn(field); name != field || seen[key] {
			name = unique.Unique(domain.CutColumnName(name, ""), "_")
		} else {
			seen[key] = true
		}
		names[i] = name
		switch {
		case strings.HasPrefix(field, "__"):
			warnings = append(warnings, domain.IngestWarning{Column: name, Message: fmt.Sprintf("the column was named %s; names that start with __ are for internal use", quote(source.Excerpt(field)))})
		case isLong:
			warnings = append(warnings, domain.IngestWarning{Column: name, Message: fmt.Sprintf("the name of the column was cut: it has more than %d characters", domain.MaxColumnName)})
		case name != field:
			renamed = append(renamed, source.Excerpt(name))
		}
	}
	if len(renamed) > 0 {
		shown := strings.Join(renamed[:min(len(renamed), source.MaxNamed)], ", ")
		if len(renamed) > source.MaxNamed {
			shown += ", …"
		}
		warnings = append(warnings, domain.IngestWarning{Message: fmt.Sprintf("%s had no name, or one that was taken: now %s", source.Count(len(renamed), "column"), shown)})
	}
	return names, warnings, nil
}

// checkColumnName refuses names that cannot be columns.
func checkColumnName(file, name string) error {
	if !utf8.ValidString(name) {
		return notUTF8(file)
	}
	if wrong := domain.CheckColumnName(name); wrong != "" {
		return refuse("%s: the column name %s %s", file, quote(source.Excerpt(name)), wrong)
	}
	return nil
}

// maxNotes is how many bytes at the end of a file may be notes below its table.
const maxNotes = 16 << 10

// csvNotes are lines of one cell below a table, and below a blank line.
type csvNotes struct {
	// offset is where the table ends, blank how many blank lines follow.
	offset int64
	blank  int
	lines  []string
}

// readNotes finds the notes below a table of several columns: lines with one value below one
// without any. Of those that could be rows, one is of several words.
func readNotes(path string, separator byte, columns int) (notes csvNotes, err error) {
	tail, from, err := readTail(path)
	if err != nil {
		return notes, err
	}
	var found csvNotes
	words, blank := false, false
	for {
		at := lastLine(tail)
		text, fields, row := noteOf(tail[at:], separator, columns)
		if blank && text != "" || row {
			// Above a blank line, the table may end.
			if blank && words {
				found = csvNotes{offset: from + int64(len(tail)), blank: notes.blank, lines: slices.Clone(notes.lines)}
			}
			blank = false
		}
		switch {
		case row || at == 0:
			slices.Reverse(found.lines)
			return found, nil
		case text != "":
			notes.lines, notes.blank = append(notes.lines, text), 0
			words = words || fields == 1 || strings.Contains(text, " ")
		case len(notes.lines) > 0:
			notes.blank++
			blank = true
		}
		tail = tail[:at]
	}
}

// readTail reads the last bytes of a file, from an offset.
func readTail(path string) (tail []byte, from int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("read source: %w", err)
	}
	from = max(0, size-maxNotes)
	tail = make([]byte, size-from)
	if _, err := file.ReadAt(tail, from); err != nil && err != io.EOF {
		return nil, 0, fmt.Errorf("read source: %w", err)
	}
	return tail, from, nil
}

// noteOf returns the only value of a line, also in merged cells, "" for a blank line, and how
// many fields it has. Row says that the line is not one of these.
func noteOf(line []byte, separator byte, columns int) (text string, fields int, row bool) {
	line = bytes.TrimRight(line, "\r\n")
	if len(bytes.Trim(line, " ")) == 0 {
		return "", 0, false
	}
	if bytes.Count(line, []byte{'"'})%2 == 1 {
		return "", 0, true // it ends a value of several lines; so those below it are whole
	}
	records := headRecords(append(slices.Clip(line), '\n'), separator)
	if len(records) != 1 || len(records[0].fields) != 1 && len(records[0].fields) != columns {
		return "", 0, true
	}
	for _, field := range records[0].fields {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		if text != "" && text != field || cellKind(field) != kindText {
			return "", 0, true
		}
		text = field
	}
	return text, len(records[0].fields), false
}

// lastLine returns where the last line of a text begins.
func lastLine(text []byte) int {
	return bytes.LastIndexByte(bytes.TrimSuffix(text, []byte{'\n'}), '\n') + 1
}
