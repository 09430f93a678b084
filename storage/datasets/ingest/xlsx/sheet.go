package xlsx

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xmlstream"
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

// Content is what a sheet has besides its cells.
type Content struct {
	// Merges are ranges of merged cells: the first row and column, and the last, from 0.
	Merges [][4]int
	// HiddenColumns are the first and last of hidden columns, from 1.
	HiddenColumns [][2]int
	// Marked says that some numbers have the mark of their style.
	Marked bool
	// HiddenRows have values. Failed are cells with an error, and Unvalued formulas without a
	// stored value, the first of which is at UnvaluedCell.
	HiddenRows, Failed, Unvalued Occurrences
	UnvaluedCell                 string
}

// Occurrences counts rows or cells.
type Occurrences struct {
	Count int
	// Row is the first one's number, from 1.
	Row int
}

func (o *Occurrences) add(row int) {
	if o.Count++; o.Count == 1 {
		o.Row = row
	}
}

// sheetReader reads the rows of a sheet that have values.
type sheetReader struct {
	*Content
	w    *Workbook
	name string
	each func(row int, cells []string) error
	// row is the number of the row in work, from 1, and cells its values by column.
	row       int
	rowHidden bool
	// rowSize counts the bytes of its values.
	rowSize int
	// inData and inRow say that the data and a row are open.
	inData, inRow bool
	cells         []string
	cell          sheetCell
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

// Read reads the rows with values, each with its number from 0. Cells are valid until the next row.
// Numbers with a unit have the mark of their style: see [CutStyle]. Name is what messages call the sheet.
func (s *Sheet) Read(ctx context.Context, name string, each func(row int, cells []string) error) (*Content, error) {
	r := &sheetReader{Content: &Content{}, w: s.w, name: name, each: each}
	return r.Content, xmlstream.ReadEntry(ctx, s.entry, r.read)
}

// The depths of elements in the XML of a sheet: the worksheet has the data, with rows of cells.
const (
	dataDepth  = 2
	cellDepth  = 4
	valueDepth = 5
)

func (s *sheetReader) read(x *xmlstream.Reader) error {
	for {
		if !s.inRow {
			x.Reset()
		}
		token, err := x.Next()
		if token == nil || err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			var known bool
			if known, err = s.start(t, x.Depth); err == nil && !known {
				err = x.Skip()
			}
		case xml.CharData:
			if s.cell.inValue {
				s.cell.value = append(s.cell.value, t...)
			}
		case xml.EndElement:
			err = s.end(x.Depth + 1)
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
		return true, s.addMerge(xmlstream.Attribute(t, "ref"))
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
	least, err := strconv.Atoi(xmlstream.Attribute(t, "min"))
	most, err2 := strconv.Atoi(xmlstream.Attribute(t, "max"))
	if xmlstream.IsSet(t, "hidden") && err == nil && err2 == nil && len(s.HiddenColumns) < maxSheetColumns {
		s.HiddenColumns = append(s.HiddenColumns, [2]int{least, most})
	}
}

func (s *sheetReader) startRow(t xml.StartElement) error {
	s.row++
	if number := xmlstream.Attribute(t, "r"); number != "" {
		given, err := strconv.Atoi(number)
		if err != nil || given < s.row {
			return &xmlstream.Error{Err: fmt.Errorf("row %s after row %d", excerpt(number), s.row-1)}
		}
		s.row = given
	}
	if s.row > maxSheetRows {
		return refuse("%s has rows beyond number %d, which a workbook cannot have", s.name, maxSheetRows)
	}
	s.inRow, s.rowHidden, s.rowSize = true, xmlstream.IsSet(t, "hidden"), 0
	s.cells, s.cell = s.cells[:0], sheetCell{value: s.cell.value}
	return nil
}

func (s *sheetReader) startCell(t xml.StartElement) error {
	column := s.cell.column + 1
	s.cell = sheetCell{open: true, name: xmlstream.Attribute(t, "r"), kind: xmlstream.Attribute(t, "t"), value: s.cell.value[:0]}
	s.cell.style, _ = strconv.Atoi(xmlstream.Attribute(t, "s"))
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
		if s.Unvalued.add(s.row); s.Unvalued.Count == 1 {
			if s.UnvaluedCell = fmt.Sprintf("row %d", s.row); s.cell.name != "" {
				s.UnvaluedCell = "cell " + s.cell.name
			}
		}
	}
	if value == "" {
		return nil
	}
	if s.cell.kind == "e" || errorValues[value] {
		s.Failed.add(s.row)
		return nil
	}
	// Cells can refer to the same long text.
	if s.rowSize += len(value); s.rowSize > xmlstream.MaxPart {
		return &xmlstream.Error{Err: xmlstream.ErrLong}
	}
	if s.cell.column > 2*domain.MaxColumns {
		return refuse("%s has more than %d columns", s.name, domain.MaxColumns)
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
	var format Format
	if s.cell.style >= 0 && s.cell.style < len(s.w.Formats) {
		format = s.w.Formats[s.cell.style]
	}
	number := format.read(text, s.w.date1904)
	if format.Unit != "" && IsDecimal(number) {
		s.Marked = true
		number = markStyle(s.cell.style, number)
	}
	return number, nil
}

// endRow ends a row, which counts if it has values.
func (s *sheetReader) endRow() error {
	if len(s.cells) == 0 {
		return nil
	}
	if s.rowHidden {
		s.HiddenRows.add(s.row)
	}
	return s.each(s.row-1, s.cells)
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
	if s.Merges = append(s.Merges, [4]int{top - 1, left - 1, bottom - 1, right - 1}); len(s.Merges) > maxMerges {
		return &xmlstream.Error{Err: errors.New("too many merged cells")}
	}
	return nil
}

// parseCellName returns the column and the row of a name such as B2 or $B$2, from 1.
func parseCellName(name string) (column, row int, err error) {
	name = strings.ReplaceAll(name, "$", "")
	letters := strings.TrimRight(name, "0123456789")
	for _, c := range []byte(strings.ToUpper(letters)) {
		if column = column*26 + int(c-'A') + 1; c < 'A' || c > 'Z' || column > maxSheetColumns {
			return 0, 0, &xmlstream.Error{Err: fmt.Errorf("no column of that name: %s", excerpt(name))}
		}
	}
	row, err = strconv.Atoi(name[len(letters):])
	if err != nil || column == 0 || row < 1 {
		return 0, 0, &xmlstream.Error{Err: fmt.Errorf("no cell of that name: %s", excerpt(name))}
	}
	return column, row, nil
}
