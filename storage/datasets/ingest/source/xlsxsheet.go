package source

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"parley/internal/domain"
)

const (
	// maxMerges is how many merged cells a sheet may have.
	maxMerges = 500_000
	// maxSheetRows and maxSheetColumns are how many a sheet of Excel has.
	maxSheetRows    = 1_048_576
	maxSheetColumns = 16_384
)

// errorValues are what formulas give when they fail.
var errorValues = map[string]bool{
	"#DIV/0!": true, "#N/A": true, "#NAME?": true, "#NULL!": true, "#NUM!": true, "#REF!": true, "#VALUE!": true, "#SPILL!": true, "#CALC!": true, "#GETTING_DATA": true,
}

// occurrences counts the cells or rows that a warning is about.
type occurrences struct {
	count int
	// row is the first one's number, from 1.
	row int
}

func (o *occurrences) add(row int) {
	if o.count++; o.count == 1 {
		o.row = row
	}
}

// sheetReader copies the rows of a sheet that have values.
type sheetReader struct {
	w   *workbook
	g   *grid
	out *csv.Writer
	// row is the number of the row in work, from 1, and cells its values by column.
	row       int
	rowHidden bool
	// rowSize counts the bytes of its values.
	rowSize int
	// inData and inRow say that the data and a row are open.
	inData, inRow bool
	cells         []string
	record        []string
	cell          sheetCell

	failed, hidden, unvalued occurrences
	// unvaluedCell is where the first formula without a stored value is.
	unvaluedCell string
}

// sheetCell is the cell in work.
type sheetCell struct {
	open bool
	// name is its column and row, such as B2, "" where it is the next one; kind and style are
	// those of its value.
	name, kind string
	style      int
	// column counts from 1.
	column int
	// formula and stored say that it has a formula and a stored value.
	formula, stored bool
	// inValue says that the text that is read is of its value.
	inValue bool
	value   []byte
}

// copyCells writes the cells of rows with values, each after its number from 0, and counts them:
// which columns there are is known at the end alone.
func (w *workbook) copyCells(ctx context.Context, entry *zip.File, g *grid, out io.Writer) error {
	g.merges, g.hidden, g.last = nil, nil, nil
	s := &sheetReader{w: w, g: g, out: csv.NewWriter(&limitedWriter{out: out, left: w.r.unpackLimit()})}
	if err := readXML(ctx, entry, s.read); err != nil {
		return err
	}
	s.warn()
	s.out.Flush()
	return s.out.Error()
}

// The depths of elements in the XML of a sheet: the worksheet has the data, with rows of cells.
const (
	dataDepth  = 2
	cellDepth  = 4
	valueDepth = 5
)

func (s *sheetReader) read(x *xmlReader) error {
	for {
		if !s.inRow {
			x.reset()
		}
		token, err := x.next()
		if token == nil || err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			var known bool
			if known, err = s.start(t, x.depth); err == nil && !known {
				err = x.skip()
			}
		case xml.CharData:
			if s.cell.inValue {
				s.cell.value = append(s.cell.value, t...)
			}
		case xml.EndElement:
			err = s.end(x.depth + 1)
		}
		if err != nil {
			return err
		}
	}
}

// start starts an element at a depth, and reports whether it is to be read.
func (s *sheetReader) start(t xml.StartElement, depth int) (known bool, err error) {
	name := t.Name.Local
	switch {
	case s.cell.open:
		return s.cell.start(name, depth), nil
	case s.inRow && name == "c":
		return true, s.startCell(t)
	case s.inData && !s.inRow && name == "row":
		return true, s.startRow(t)
	case s.inData:
		return false, nil
	case depth == dataDepth:
		s.inData = name == "sheetData"
	case name == "col":
		s.addHidden(t)
	case name == "mergeCell":
		return true, s.addMerge(attribute(t, "ref"))
	}
	return true, nil
}

// start starts an element within the cell, and reports whether it is to be read.
func (c *sheetCell) start(name string, depth int) (known bool) {
	switch {
	case depth > valueDepth: // a text, and its runs of rich text
		c.inValue = name == "t"
		return name == "t" || name == "r"
	case name == "is" && c.kind == "inlineStr":
		c.value = c.value[:0]
		return true
	case name == "v":
		c.inValue, c.stored = len(c.value) == 0, true
		return true
	}
	c.formula = c.formula || name == "f"
	return false
}

// end ends an element at a depth.
func (s *sheetReader) end(depth int) error {
	switch {
	case s.cell.open && depth == cellDepth:
		return s.endCell()
	case s.cell.open:
		s.cell.inValue = false
	case s.inRow:
		s.inRow = false
		return s.endRow()
	case s.inData:
		s.inData = false
	}
	return nil
}

func (s *sheetReader) addHidden(t xml.StartElement) {
	least, err := strconv.Atoi(attribute(t, "min"))
	most, err2 := strconv.Atoi(attribute(t, "max"))
	if isSet(t, "hidden") && err == nil && err2 == nil && len(s.g.hidden) < maxSheetColumns {
		s.g.hidden = append(s.g.hidden, [2]int{least, most})
	}
}

func (s *sheetReader) startRow(t xml.StartElement) error {
	s.row++
	if number := attribute(t, "r"); number != "" {
		given, err := strconv.Atoi(number)
		if err != nil || given < s.row {
			return &xmlError{fmt.Errorf("row %s after row %d", Excerpt(number), s.row-1)}
		}
		s.row = given
	}
	if s.row > maxSheetRows {
		return refuse("%s has rows beyond number %d, which a workbook cannot have", s.g.name, maxSheetRows)
	}
	s.inRow, s.rowHidden, s.rowSize = true, isSet(t, "hidden"), 0
	s.cells, s.cell = s.cells[:0], sheetCell{value: s.cell.value}
	return nil
}

func (s *sheetReader) startCell(t xml.StartElement) error {
	column := s.cell.column + 1
	s.cell = sheetCell{open: true, name: attribute(t, "r"), kind: attribute(t, "t"), value: s.cell.value[:0]}
	s.cell.style, _ = strconv.Atoi(attribute(t, "s"))
	if s.cell.name != "" {
		var err error
		if column, _, err = parseCellName(s.cell.name); err != nil {
			return err
		}
	}
	s.cell.column = column
	return nil
}

// endCell adds the value of the cell to its row.
func (s *sheetReader) endCell() error {
	s.cell.open = false
	value, err := s.value()
	if err != nil {
		return err
	}
	if s.cell.formula && value == "" && (s.cell.kind != "str" || !s.cell.stored) {
		if s.unvalued.add(s.row); s.unvalued.count == 1 {
			if s.unvaluedCell = fmt.Sprintf("row %d", s.row); s.cell.name != "" {
				s.unvaluedCell = "cell " + s.cell.name
			}
		}
	}
	if value == "" {
		return nil
	}
	if s.cell.kind == "e" || errorValues[value] {
		s.failed.add(s.row)
		return nil
	}
	// Cells can refer to the same long text.
	if s.rowSize += len(value); s.rowSize > MaxValue {
		return &xmlError{errLongElement}
	}
	if s.cell.column > 2*domain.MaxColumns {
		return refuse("%s has more than %d columns", s.g.name, domain.MaxColumns)
	}
	for len(s.cells) < s.cell.column {
		s.cells = append(s.cells, "")
	}
	s.cells[s.cell.column-1] = value
	return nil
}

// value returns the value of the cell, with the mark of its style if it is a number with a unit.
func (s *sheetReader) value() (string, error) {
	text := string(s.cell.value)
	if text == "" {
		return "", nil
	}
	switch s.cell.kind {
	case "s":
		return s.w.texts.get(text)
	case "inlineStr", "str":
		return unescape(text), nil
	case "b":
		switch text {
		case "0":
			return "FALSE", nil
		case "1":
			return "TRUE", nil
		}
		return text, nil
	case "", "n":
	default: // an error, a date in ISO form
		return text, nil
	}
	var format numberFormat
	if s.cell.style >= 0 && s.cell.style < len(s.w.formats) {
		format = s.w.formats[s.cell.style]
	}
	number := format.read(text, s.w.date1904)
	if format.unit > 0 && isDecimal(number) {
		s.g.marked = true
		number = markStyle(s.cell.style, number)
	}
	return number, nil
}

// endRow copies the row if it has values.
func (s *sheetReader) endRow() error {
	if len(s.cells) == 0 {
		return nil
	}
	if s.rowHidden {
		s.hidden.add(s.row)
	}
	s.g.count(s.row-1, s.cells)
	s.record = append(append(s.record[:0], strconv.Itoa(s.row-1)), s.cells...)
	return s.out.Write(s.record)
}

func (s *sheetReader) addMerge(ref string) error {
	from, to, _ := strings.Cut(ref, ":")
	left, top, err := parseCellName(from)
	if err != nil {
		return err
	}
	right, bottom, err := parseCellName(to)
	if err != nil {
		return err
	}
	if s.g.merges = append(s.g.merges, merge{top - 1, left - 1, bottom - 1, right - 1}); len(s.g.merges) > maxMerges {
		return &xmlError{errors.New("too many merged cells")}
	}
	return nil
}

// parseCellName returns the column and the row of a name such as B2 or $B$2, from 1.
func parseCellName(name string) (column, row int, err error) {
	name = strings.ReplaceAll(name, "$", "")
	letters := strings.TrimRight(name, "0123456789")
	for _, c := range []byte(strings.ToUpper(letters)) {
		if column = column*26 + int(c-'A') + 1; c < 'A' || c > 'Z' || column > maxSheetColumns {
			return 0, 0, &xmlError{fmt.Errorf("no column of that name: %s", Excerpt(name))}
		}
	}
	row, err = strconv.Atoi(name[len(letters):])
	if err != nil || column == 0 || row < 1 {
		return 0, 0, &xmlError{fmt.Errorf("no cell of that name: %s", Excerpt(name))}
	}
	return column, row, nil
}

// warn says what was read otherwise than it may be meant.
func (s *sheetReader) warn() {
	warn := func(row int, message string) {
		s.w.r.Warnings = append(s.w.r.Warnings, domain.IngestWarning{Line: int64(row), Message: s.g.name + ": " + message})
	}
	if s.hidden.count > 0 {
		warn(s.hidden.row, Count(s.hidden.count, "hidden or filtered row")+" read too; to leave them out, delete them from the file")
	}
	if s.failed.count > 0 {
		warn(s.failed.row, fmt.Sprintf("%d cells hold an error of a formula, such as #N/A; they are read as missing", s.failed.count))
	}
	if s.unvalued.count > 0 {
		warn(s.unvalued.row, fmt.Sprintf("%s without a stored value, the first in %s, read as missing; open the file in Excel, save it and send that",
			Count(s.unvalued.count, "formula"), s.unvaluedCell))
	}
}

// eachCopied returns the rows that copyCells wrote.
func eachCopied(ctx context.Context, path string, give func(int, []string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open temporary file: %w", err)
	}
	defer file.Close()
	rows := csv.NewReader(file)
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	for {
		record, err := rows.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read temporary file: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		number, err := strconv.Atoi(record[0])
		if err != nil {
			return fmt.Errorf("read temporary file: %w", err)
		}
		if err := give(number, record[1:]); err != nil {
			return err
		}
	}
}
