package source

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

// plainFormat is the id of no format: the value is given as it is.
const plainFormat = 9999

// The characters before dates and times as excelize is made to show them: numbers of
// days. To format dates itself takes it longer than all the rest.
const (
	dateMark    = "\ue0d0"
	instantMark = "\ue0d1"
	timeMark    = "\ue0d2"
	elapsedMark = "\ue0d3"
)

var cellFormats = map[string]string{"date": dateMark, "instant": instantMark, "time": timeMark, "elapsed": elapsedMark}

// temporal gives a cell's date or time in ISO form, and other cells as they are.
func temporal(cell string, date1904 bool) string {
	if !strings.HasPrefix(cell, dateMark[:2]) || len(cell) < len(dateMark) {
		return cell
	}
	mark, number := cell[:len(dateMark)], cell[len(dateMark):]
	days, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return cell
	}
	if mark == elapsedMark {
		seconds := int64(math.Round(days * 86400))
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	if !date1904 && days >= 1 && days < 60 {
		days++ // Excel counts a 29 February 1900
	}
	at, err := excelize.ExcelDateToTime(days, date1904)
	if err != nil {
		return number
	}
	at = at.Round(time.Second)
	switch mark {
	case dateMark:
		return at.Format(time.DateOnly)
	case instantMark:
		return at.Format(time.DateTime)
	case timeMark:
		return at.Format(time.TimeOnly)
	}
	return cell
}

// setFormats replaces the formats of cells, so that dates are read in ISO form and
// numbers plainly, whatever they look like on the screen. Numbers that are shown with
// leading zeros are codes, and are read so. The units that formats show are noted.
func (w *workbook) setFormats() error {
	styles := w.file.Styles
	if styles == nil || styles.CellXfs == nil {
		return nil
	}
	codes := map[int]string{9: "0%", 10: "0.00%", 14: "m/d/y", 15: "d-m-y", 16: "d-m", 17: "m-y", 18: "h:m", 19: "h:m:s", 20: "h:m", 21: "h:m:s", 22: "m/d/y h:m", 45: "m:s", 46: "[h]:m:s", 47: "m:s"}
	for id := 27; id <= 58; id++ { // the dates of East Asian editions
		if id <= 31 || id == 36 || id >= 50 {
			codes[id] = "y/m/d"
		} else if id <= 35 {
			codes[id] = "h:m:s"
		}
	}
	if styles.NumFmts != nil {
		for _, f := range styles.NumFmts.NumFmt {
			if f != nil {
				codes[f.NumFmtID] = f.FormatCode
			}
		}
	}
	for id, code := range moneyFormats {
		if codes[id] == "" {
			codes[id] = code
		}
	}
	count := len(styles.CellXfs.Xf)
	ids := map[string]int{"plain": plainFormat}
	for kind, mark := range cellFormats {
		code := `"` + mark + `"0.0000000000`
		style, err := w.file.NewStyle(&excelize.Style{CustomNumFmt: &code})
		if err != nil || styles.CellXfs.Xf[style].NumFmtID == nil {
			return fmt.Errorf("set the formats of a workbook: %w", err)
		}
		ids[kind] = *styles.CellXfs.Xf[style].NumFmtID
	}
	for i := range count {
		id := 0
		if of := styles.CellXfs.Xf[i].NumFmtID; of != nil {
			id = *of
		}
		kind := formatKind(codes[id])
		if wanted, ok := ids[kind]; ok {
			styles.CellXfs.Xf[i].NumFmtID = &wanted
		}
		if f := parseFormat(codes[id]); kind == "plain" && f.unit > 0 && i < maxStyles {
			if w.formats == nil {
				w.formats = make([]numberFormat, min(count, maxStyles))
			}
			w.formats[i] = f
		}
	}
	return nil
}

var (
	// quotedInFormat is what a format shows as it stands, and the conditions and
	// colours of its sections, but not elapsed hours.
	quotedInFormat = regexp.MustCompile(`"[^"]*"|\\.|_.|\*.|\[(?:[^\]hms][^\]]*|[hms][^\]hms][^\]]*)\]`)
	zerosOnly      = regexp.MustCompile(`^0{2,}$`)
	elapsed        = regexp.MustCompile(`\[[hms]+\]`)
)

// formatKind says what cells with a format are: of a kind of cellFormats, plain, or
// codes, whose format stays.
func formatKind(code string) string {
	if zerosOnly.MatchString(code) {
		return "code"
	}
	code, _, _ = strings.Cut(quotedInFormat.ReplaceAllString(strings.ToLower(code), ""), ";")
	switch days, hours := strings.ContainsAny(code, "yd"), strings.ContainsAny(code, "hs"); {
	case strings.Contains(code, "general"):
		return "plain"
	case elapsed.MatchString(code):
		return "elapsed"
	case days && hours:
		return "instant"
	case days, strings.Contains(code, "mmm"):
		return "date"
	case hours:
		return "time"
	}
	return "plain"
}

// sheetLayout is what excelize does not say of a sheet unless it is in memory.
type sheetLayout struct {
	merges []merge
	// rows is the number of the last row, from 1.
	rows int
	// values says that cells have values.
	values bool
	// long says that there are whole numbers of more digits than excelize gives.
	long bool
	// unvalued counts the formulas without a stored value, of which the first is in
	// a cell and a row.
	unvalued     int
	unvaluedCell string
	unvaluedRow  int
	// hidden are the first and last of hidden columns, from 1.
	hidden [][2]int
	// styles are those of numbers with a unit, and column the last cell's, from 1.
	styles styledRows
	column int
}

// maxMerges is how many merged cells a sheet may have.
const maxMerges = 500_000

var errSheet = errors.New("not a whole sheet")

// scanSheet reads the tags of a sheet's XML, and checks that it unpacks and has an end, and
// that its rows are short enough: excelize holds one in memory, with all that is before the next.
// Cells refer to so many shared texts, and have these formats by their styles.
func scanSheet(ctx context.Context, entry *zip.File, texts int, formats []numberFormat) (layout sheetLayout, err error) {
	content, err := entry.Open()
	if err != nil {
		return layout, err
	}
	defer content.Close()
	tags := newTagReader(content)
	closed, formula := false, false
	var cell []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return layout, ctx.Err()
		}
		tag, err := tags.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return layout, err
		}
		if !closed && tags.length > MaxValue {
			return layout, errLongElement
		}
		switch name := tagName(tag); name {
		case "c", "c/":
			tag, _, _ = bytes.Cut(tag, []byte{'>'})
			cell, formula = append(cell[:0], tag...), false
			if formats != nil {
				layout.addStyle(cell, formats)
			}
		case "f", "f/":
			formula = true
		case "v", "t":
			layout.values = true
			_, value, _ := bytes.Cut(tag, []byte{'>'})
			if name == "v" && bytes.Contains(cell, []byte(` t="s"`)) && !refersToText(value, texts) {
				return layout, errSheet
			}
			formula = formula && len(value) > 0 && value[0] == '<' && attribute(cell, "t") != "str"
			layout.long = layout.long || isLong(value)
		case "v/":
			formula = formula && attribute(cell, "t") != "str"
		case "/c":
			if formula {
				layout.addUnvalued(cell)
			}
			formula = false
		case "row", "mergeCell", "col":
			// A long tag is cut off; the attribute is among the first.
			if tag, err = tags.peek(200); err != nil {
				return layout, err
			}
			if err := layout.add(name, tag); err != nil {
				return layout, err
			}
			if name == "row" {
				tags.length = 0
			}
		case "/sheetData", "sheetData/":
			closed = true
		}
	}
	if !closed {
		return layout, errSheet
	}
	layout.styles.end(layout.rows)
	return layout, nil
}

// refersToText reports whether a value is the number of one of the shared texts, or none.
func refersToText(value []byte, texts int) bool {
	value, _, _ = bytes.Cut(value, []byte{'<'})
	number, err := strconv.Atoi(string(bytes.TrimSpace(value)))
	return len(value) == 0 || err != nil || number < texts
}

// isLong reports whether text begins with a whole number that excelize rounds.
func isLong(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte{'-'})
	n := len(digits) - len(bytes.TrimLeft(digits, "0123456789"))
	return n > 15 && n < 20 && (n == len(digits) || digits[n] == '<')
}

func (l *sheetLayout) addUnvalued(cell []byte) {
	if l.unvalued++; l.unvalued > 1 {
		return
	}
	l.unvaluedRow = l.rows
	if l.unvaluedCell = "row " + strconv.Itoa(l.rows); attribute(cell, "r") != "" {
		l.unvaluedCell = "cell " + attribute(cell, "r")
	}
}

func (l *sheetLayout) add(name string, tag []byte) error {
	if end := bytes.IndexByte(tag, '>'); end >= 0 {
		tag = tag[:end]
	}
	switch name {
	case "col":
		least, err := strconv.Atoi(attribute(tag, "min"))
		most, err2 := strconv.Atoi(attribute(tag, "max"))
		if hidden := attribute(tag, "hidden"); (hidden == "1" || hidden == "true") && err == nil && err2 == nil && len(l.hidden) < excelize.MaxColumns {
			l.hidden = append(l.hidden, [2]int{least, most})
		}
		return nil
	case "row":
		l.styles.end(l.rows)
		l.rows++
		l.column = 0
		if given, err := strconv.Atoi(attribute(tag, "r")); err == nil && given > 0 {
			l.rows = given
		}
		return nil
	}
	from, to, _ := bytes.Cut([]byte(attribute(tag, "ref")), []byte(":"))
	left, top, err := excelize.CellNameToCoordinates(string(from))
	if err != nil {
		return err
	}
	right, bottom, err := excelize.CellNameToCoordinates(string(to))
	if err != nil {
		return err
	}
	if l.merges = append(l.merges, merge{top - 1, left - 1, bottom - 1, right - 1}); len(l.merges) > maxMerges {
		return errSheet
	}
	return nil
}

// addStyle notes the style of a number with a unit.
func (l *sheetLayout) addStyle(cell []byte, formats []numberFormat) {
	l.column++
	if name := attribute(cell, "r"); name != "" {
		column, err := excelize.ColumnNameToNumber(strings.TrimRight(name, "0123456789"))
		if err != nil {
			return
		}
		l.column = column
	}
	style, _ := strconv.Atoi(attribute(cell, "s"))
	if style < 0 || style >= len(formats) || formats[style].unit == 0 {
		return
	}
	if kind := attribute(cell, "t"); kind == "" || kind == "n" {
		l.styles.row = append(l.styles.row, styledCell{uint16(l.column - 1), uint16(style)})
	}
}

// tagName gives the name of a tag without its prefix.
func tagName(tag []byte) string {
	if end := bytes.IndexAny(tag, " \t\r\n>"); end >= 0 {
		tag = tag[:end]
	}
	slash := bytes.HasPrefix(tag, []byte("/"))
	if colon := bytes.IndexByte(tag, ':'); colon >= 0 {
		tag = tag[colon+1:]
		if slash {
			return "/" + string(tag)
		}
	}
	return string(tag)
}

// attribute gives the value of an attribute of a tag.
func attribute(tag []byte, name string) string {
	for _, mark := range []string{`"`, `'`} {
		if _, value, ok := bytes.Cut(tag, []byte(" "+name+"="+mark)); ok {
			value, _, _ = bytes.Cut(value, []byte(mark))
			return string(value)
		}
	}
	return ""
}
