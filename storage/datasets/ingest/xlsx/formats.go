package xlsx

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/storage/datasets/ingest/xmlstream"
)

// numberKind says what a number is, by the format that shows it.
type numberKind uint8

const (
	plainNumber numberKind = iota
	// zeroPadded is a code: a whole number is shown with as many digits as its format has.
	zeroPadded
	dateNumber
	instantNumber
	timeNumber
	// elapsedNumber is a time of any number of hours.
	elapsedNumber
)

// Format is how a cell shows its number.
type Format struct {
	kind numberKind
	// Unit is one of unitname.Names, and is set for plain numbers alone.
	Unit string
	// times100 says that the number is shown times 100.
	times100 bool
	// Code is the part of the format for numbers from 0 on.
	Code string
}

// maxStyles is how many styles of a workbook are read: as many as there are marks.
const maxStyles = 0xfffd

// readStyles reads the formats of numbers, which cells name by their styles.
func (w *Workbook) readStyles(ctx context.Context, entry *zip.File) error {
	codes, parsed := map[int]string{}, map[int]Format{}
	ofCells := false
	return w.eachHeld(ctx, entry, func(t xml.StartElement) {
		id, _ := strconv.Atoi(xmlstream.Attribute(t, "numFmtId"))
		switch name := t.Name.Local; {
		case name == "numFmt":
			codes[id] = xmlstream.Attribute(t, "formatCode")
		case name == "cellXfs", name == "cellStyleXfs":
			ofCells = name == "cellXfs"
		case name == "xf" && ofCells && len(w.Formats) < maxStyles:
			f, known := parsed[id]
			if !known {
				code, own := codes[id]
				if !own {
					code = builtInFormat(id)
				}
				f = parseFormat(code)
				parsed[id] = f
			}
			w.Formats = append(w.Formats, f)
		}
	})
}

// builtInFormats are the formats that have a number instead of a code, without those that show
// a number plainly.
var builtInFormats = map[int]string{
	5: `"$"#,##0`, 6: `"$"#,##0`, 7: `"$"#,##0.00`, 8: `"$"#,##0.00`, 9: "0%", 10: "0.00%", 42: `"$"#,##0`, 44: `"$"#,##0.00`,
	14: "m/d/y", 15: "d-m-y", 16: "d-m", 17: "m-y", 18: "h:m", 19: "h:m:s", 20: "h:m", 21: "h:m:s", 22: "m/d/y h:m", 45: "m:s", 46: "[h]:m:s", 47: "m:s",
}

func builtInFormat(id int) string {
	switch {
	case id >= 27 && id <= 31, id == 36, id >= 50 && id <= 58: // those of East Asian editions
		return "y/m/d"
	case id >= 32 && id <= 35:
		return "h:m:s"
	}
	return builtInFormats[id]
}

// parseFormat reads the code of a format.
func parseFormat(code string) Format {
	var shown strings.Builder
	percents, rest := 0, code
	for rest != "" && rest[0] != ';' {
		c, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch _, next := utf8.DecodeRuneInString(rest); {
		case c == '"':
			var text string
			text, rest, _ = strings.Cut(rest, `"`)
			shown.WriteString(text)
		case c == '\\':
			shown.WriteString(rest[:next])
			rest = rest[next:]
		case c == '_' || c == '*': // a blank, and what fills the cell
			rest = rest[next:]
		case c == '[':
			var text string
			text, rest, _ = strings.Cut(rest, "]")
			if symbol, ok := strings.CutPrefix(text, "$"); ok {
				symbol, _, _ = strings.Cut(symbol, "-")
				shown.WriteString(symbol)
			}
		case c == '%':
			percents++
		case c == 'G' && strings.HasPrefix(rest, "eneral"):
			rest = rest[len("eneral"):]
		case !strings.ContainsRune("0#?.,+-()", c):
			shown.WriteRune(c)
		}
	}
	f := Format{kind: formatKind(code), Code: strings.TrimSpace(code[:len(code)-len(rest)])}
	if f.kind == plainNumber {
		f.setUnit(strings.Trim(shown.String(), " \u00a0\u202f()-+"), percents)
	}
	return f
}

var (
	// quotedInFormat is what a format shows as it stands, and the conditions and
	// colours of its sections, but not elapsed hours.
	quotedInFormat = regexp.MustCompile(`"[^"]*"|\\.|_.|\*.|\[(?:[^\]hms][^\]]*|[hms][^\]hms][^\]]*)\]`)
	// zerosOnly has as many zeros as a format of Excel can have.
	zerosOnly = regexp.MustCompile(`^0{2,255}$`)
	elapsed   = regexp.MustCompile(`\[[hms]+\]`)
)

func formatKind(code string) numberKind {
	if zerosOnly.MatchString(code) {
		return zeroPadded
	}
	code, _, _ = strings.Cut(quotedInFormat.ReplaceAllString(strings.ToLower(code), ""), ";")
	switch days, hours := strings.ContainsAny(code, "yd"), strings.ContainsAny(code, "hs"); {
	case strings.Contains(code, "general"):
		return plainNumber
	case elapsed.MatchString(code):
		return elapsedNumber
	case days && hours:
		return instantNumber
	case days, strings.Contains(code, "mmm"):
		return dateNumber
	case hours:
		return timeNumber
	}
	return plainNumber
}

var timeLayouts = [...]string{dateNumber: time.DateOnly, instantNumber: time.DateTime, timeNumber: time.TimeOnly}

// read returns a number as it is stored in the way that it is meant, whatever it looks like on the
// screen: dates and times in ISO form, and other numbers plainly. What is no number stays.
func (f *Format) read(stored string, date1904 bool) string {
	stored = strings.TrimSpace(stored)
	if !IsDecimal(stored) {
		return stored
	}
	number, err := strconv.ParseFloat(stored, 64)
	if err != nil {
		return stored
	}
	switch f.kind {
	case elapsedNumber:
		if math.Abs(number) <= maxDay {
			return formatElapsed(number)
		}
	case dateNumber, instantNumber, timeNumber:
		if at, ok := timeOf(number, date1904); ok {
			return at.Format(timeLayouts[f.kind])
		}
	case zeroPadded:
		if number == math.Trunc(number) && !isLong(stored) {
			return fmt.Sprintf("%s%0*.0f", sign(number), len(f.Code), math.Abs(number))
		}
	}
	return formatNumber(stored, number)
}

// isLong reports whether a number is a whole one with more digits than Excel shows, and no more
// than a BIGINT has.
func isLong(stored string) bool {
	digits := strings.TrimPrefix(stored, "-")
	return len(digits) > 15 && len(digits) < 20 && strings.Trim(digits, "0123456789") == ""
}

// formatNumber writes a number with the 15 digits that Excel shows, as sums have residues
// beyond them. A long whole number, such as an id, stays as it is stored.
func formatNumber(stored string, number float64) string {
	if isLong(stored) {
		return stored
	}
	text := strconv.FormatFloat(number, 'f', -1, 64)
	if len(text)-strings.Count(text, ".") > 15 {
		return strconv.FormatFloat(number, 'G', 15, 64)
	}
	return text
}

func sign(number float64) string {
	if number < 0 {
		return "-"
	}
	return ""
}

func formatElapsed(days float64) string {
	seconds := int64(math.Round(math.Abs(days) * 86400))
	return fmt.Sprintf("%s%d:%02d:%02d", sign(days), seconds/3600, seconds/60%60, seconds%60)
}

const (
	// maxDay is 31 December 9999, the last day of Excel.
	maxDay = 2958465
	// days1904 are those between the days from which Excel counts.
	days1904 = 1462
)

// timeOf returns the time of a number of days, unless there is none.
func timeOf(days float64, date1904 bool) (time.Time, bool) {
	switch {
	case date1904 && days >= 0:
		days += days1904
	case days >= 1 && days < 60:
		days++ // Excel counts a 29 February 1900
	}
	if !(days >= 0 && days < maxDay+1) {
		return time.Time{}, false
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	whole, part := math.Modf(days)
	return first.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*86400)) * time.Second), true
}
