package ingest

import (
	"fmt"
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
// leading zeros are codes, and are read so.
func (w *workbook) setFormats() error {
	styles := w.file.Styles
	if styles == nil || styles.CellXfs == nil {
		return nil
	}
	codes := map[int]string{14: "m/d/y", 15: "d-m-y", 16: "d-m", 17: "m-y", 18: "h:m", 19: "h:m:s", 20: "h:m", 21: "h:m:s", 22: "m/d/y h:m", 45: "m:s", 46: "[h]:m:s", 47: "m:s"}
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
		if wanted, ok := ids[formatKind(codes[id])]; ok {
			styles.CellXfs.Xf[i].NumFmtID = &wanted
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
