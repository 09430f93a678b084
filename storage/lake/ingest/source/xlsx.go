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
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"parley/storage"
)

const (
	// maxInMemory is the most that the parts of a workbook which are held in memory
	// may unpack to; sheets and texts above maxXMLInMemory are files.
	maxInMemory    = 128 << 20
	maxXMLInMemory = 4 << 20
)

// workbook reads the sheets of an Excel file.
type workbook struct {
	r     *Reader
	name  string
	file  *excelize.File
	files *zip.ReadCloser
	// paths are the sheets' entries in the archive, by the ids of their relations.
	paths map[string]string
	// formats are what styles show with numbers, nil where none shows a unit.
	formats []numberFormat
}

// openWorkbook gives the visible sheets with values.
func (r *Reader) openWorkbook(ctx context.Context, in Input, files *zip.ReadCloser) (*Container, error) {
	w := &workbook{r: r, name: in.Name, files: files}
	c := &Container{release: w.close}
	if err := w.open(c); err != nil {
		w.close()
		return nil, err
	}
	texts := 0
	if entry := w.entry("xl/sharedStrings.xml"); entry != nil {
		var err error
		if texts, err = countStrings(ctx, entry); err != nil {
			w.close()
			return nil, refuseXML(ctx, in.Name, err)
		}
	}
	var hidden []string
	for _, sheet := range w.file.WorkBook.Sheets.Sheet {
		entry := w.entry(w.paths[sheet.ID])
		if entry == nil {
			continue // a chart, or a dialog
		}
		if sheet.State == "hidden" || sheet.State == "veryHidden" {
			hidden = append(hidden, sheet.Name)
			continue
		}
		layout, err := scanSheet(ctx, entry, texts, w.formats)
		if err != nil {
			w.close()
			return nil, refuseXML(ctx, partName(in.Name, sheet.Name), err)
		}
		if layout.values {
			c.parts = append(c.parts, w.part(sheet.Name, layout))
		}
	}
	if len(hidden) > 0 {
		list := ListFirst(hidden)
		if len(c.parts) == 0 {
			w.close()
			return nil, refuse("%s has only hidden sheets: %s; unhide one and send the file again", in.Name, list)
		}
		c.Warnings = append(c.Warnings, storage.IngestWarning{Message: fmt.Sprintf("%s: hidden sheets are not read: %s", in.Name, list)})
	}
	return c, nil
}

func (w *workbook) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
	_ = w.files.Close()
}

// needless are the folders and files of a workbook that hold no values.
var needless = regexp.MustCompile(`(?i)^(docProps|customXml|xl/(media|drawings|charts|chartsheets|diagrams|embeddings|model|pivot[^/]*|queries|ctrlProps|` +
	`activeX|externalLinks|printerSettings|threadedComments|persons|slicer[^/]*|timeline[^/]*|tables|richData|theme))/|^xl/(calcChain|comments\d*|metadata|connections)\.xml$|^xl/vbaProject`)

// open opens the workbook without what holds no values, which excelize would unpack into
// memory.
func (w *workbook) open(c *Container) error {
	var size, memory int64
	macros := false
	slim, err := w.r.WriteTemp(func(out io.Writer) error {
		archive := zip.NewWriter(out)
		for _, f := range w.files.File {
			macros = macros || strings.HasPrefix(f.Name, "xl/vbaProject")
			if ext := path.Ext(f.Name); needless.MatchString(f.Name) || ext != ".xml" && ext != ".rels" {
				continue
			}
			size += int64(f.UncompressedSize64)
			if f.UncompressedSize64 <= maxXMLInMemory || !isStreamed(f.Name) {
				memory += int64(f.UncompressedSize64)
			}
			if err := archive.Copy(f); err != nil {
				return fmt.Errorf("%w: %w", errDamaged, err)
			}
		}
		return archive.Close()
	})
	limit := w.r.unpackLimit()
	switch {
	case errors.Is(err, errDamaged):
		return refuseDamaged(w.name)
	case err != nil:
		return err
	case size > limit || size < 0:
		return refuseTooLarge(w.name, limit)
	case memory > maxInMemory:
		return refuse("%s takes too much memory to read; save its sheets as CSV files", w.name)
	}
	w.r.unpacked += size
	if macros {
		c.Warnings = append(c.Warnings, storage.IngestWarning{Message: w.name + ": its macros are not read"})
	}
	w.file, err = excelize.OpenFile(slim, excelize.Options{UnzipSizeLimit: max(size, maxXMLInMemory), UnzipXMLSizeLimit: maxXMLInMemory, TmpDir: w.r.Dir})
	if err != nil || w.file.WorkBook == nil {
		return refuseDamaged(w.name)
	}
	if err := w.setFormats(); err != nil {
		return err
	}
	return w.readPaths()
}

// isStreamed reports whether excelize reads an entry from a file when it is large.
func isStreamed(name string) bool {
	name = strings.ToLower(name)
	return name == "xl/sharedstrings.xml" || strings.HasPrefix(name, "xl/worksheets/sheet")
}

// readPaths finds the entries of worksheets.
func (w *workbook) readPaths() error {
	w.paths = map[string]string{}
	at := slices.IndexFunc(w.files.File, func(f *zip.File) bool {
		folder, name := path.Split(f.Name)
		return strings.HasSuffix(folder, "_rels/") && strings.HasPrefix(strings.ToLower(name), "workbook")
	})
	if at < 0 {
		return refuseDamaged(w.name)
	}
	relations := w.files.File[at]
	content, err := relations.Open()
	if err != nil {
		return refuseDamaged(w.name)
	}
	defer content.Close()
	var found struct {
		Relationship []struct {
			ID     string `xml:"Id,attr"`
			Type   string `xml:"Type,attr"`
			Target string `xml:"Target,attr"`
		}
	}
	if err := xml.NewDecoder(io.LimitReader(content, maxXMLInMemory)).Decode(&found); err != nil {
		return refuseDamaged(w.name)
	}
	base := path.Dir(path.Dir(relations.Name))
	for _, relation := range found.Relationship {
		if strings.HasSuffix(relation.Type, "/worksheet") {
			target := strings.ReplaceAll(relation.Target, `\`, "/")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(base, target)
			}
			w.paths[relation.ID] = strings.TrimPrefix(target, "/")
		}
	}
	return nil
}

func (w *workbook) entry(name string) *zip.File {
	for _, f := range w.files.File {
		if name != "" && strings.EqualFold(strings.ReplaceAll(f.Name, `\`, "/"), name) {
			return f
		}
	}
	return nil
}

// part gives a sheet as a table.
func (w *workbook) part(sheet string, layout sheetLayout) Part {
	g := &grid{name: partName(w.name, sheet), merges: layout.merges, formats: w.formats, hidden: layout.hidden}
	return Part{
		Name: sheet, Format: CSV, In: Input{Name: g.name}, grid: g,
		write: func(ctx context.Context, out io.Writer) error {
			cells, err := w.r.WriteTemp(func(out io.Writer) error { return w.copyCells(ctx, sheet, layout, g, out) })
			if err != nil {
				return err
			}
			defer os.Remove(cells)
			g.each = func(give func(int, []string) error) error { return eachCopied(ctx, cells, give) }
			return g.writeCSV(out, w.r.Options.HeaderRow)
		},
	}
}

// errorValues are what formulas give when they fail.
var errorValues = map[string]bool{
	"#DIV/0!": true, "#N/A": true, "#NAME?": true, "#NULL!": true, "#NUM!": true, "#REF!": true, "#VALUE!": true, "#SPILL!": true, "#CALC!": true, "#GETTING_DATA": true,
}

// copyCells writes the cells of rows with values, each after its number, and counts them:
// which columns there are is known at the end alone.
func (w *workbook) copyCells(ctx context.Context, sheet string, layout sheetLayout, g *grid, out io.Writer) error {
	rows, err := w.file.Rows(sheet)
	if err != nil {
		return refuseDamaged(g.name)
	}
	defer rows.Close()
	// Values as they are stored have no formats, so that both are read where the
	// formats round.
	var stored *excelize.Rows
	if layout.long {
		if stored, err = w.file.Rows(sheet); err != nil {
			return refuseDamaged(g.name)
		}
		defer stored.Close()
	}
	copied := csv.NewWriter(&limitedWriter{out: out, left: w.r.unpackLimit()})
	date1904 := false
	if properties := w.file.WorkBook.WorkbookPr; properties != nil {
		date1904 = properties.Date1904
	}
	var number, failed, firstFailed, hidden, firstHidden int
	var record []string
	for ; rows.Next(); number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if number == excelize.TotalRows {
			return refuse("%s has rows beyond number %d, which a workbook cannot have", g.name, excelize.TotalRows)
		}
		cells, err := rows.Columns()
		if err != nil {
			return refuseDamaged(g.name)
		}
		if len(cells) > 2*storage.MaxColumns {
			return refuse("%s has more than %d columns", g.name, storage.MaxColumns)
		}
		if stored != nil {
			if err := keepLong(stored, cells); err != nil {
				return refuseDamaged(g.name)
			}
		}
		for i, cell := range cells {
			cells[i] = temporal(cell, date1904)
			if len(cell) > 0 && cell[0] == '#' && errorValues[cell] {
				cells[i] = ""
				if failed++; failed == 1 {
					firstFailed = number + 1
				}
			}
		}
		if !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
			continue
		}
		layout.styles.mark(number+1, cells)
		if rows.GetRowOpts().Hidden {
			if hidden++; hidden == 1 {
				firstHidden = number + 1
			}
		}
		g.count(number, cells)
		record = append(append(record[:0], strconv.Itoa(number)), cells...)
		if err := copied.Write(record); err != nil {
			return err
		}
	}
	g.marked = len(layout.styles.runs) > 0
	copied.Flush()
	if err := copied.Error(); err != nil {
		return err
	}
	// The rows end silently where the XML is wrong.
	if rows.Error() != nil || number < layout.rows {
		return refuseDamaged(g.name)
	}
	warn := func(row int, message string) {
		w.r.Warnings = append(w.r.Warnings, storage.IngestWarning{Line: int64(row), Message: g.name + ": " + message})
	}
	if hidden > 0 {
		warn(firstHidden, Count(hidden, "hidden or filtered row")+" read too; to leave them out, delete them from the file")
	}
	if layout.styles.tooMany {
		warn(0, "its cells have too many different formats: percent formats and currencies are not read, 7% is 0.07")
	}
	if failed > 0 {
		warn(firstFailed, fmt.Sprintf("%d cells hold an error of a formula, such as #N/A; they are read as missing", failed))
	}
	if layout.unvalued > 0 {
		warn(layout.unvaluedRow, fmt.Sprintf("%s without a stored value, the first in %s, read as missing; open the file in Excel, save it and send that",
			Count(layout.unvalued, "formula"), layout.unvaluedCell))
	}
	return nil
}

// keepLong puts whole numbers that excelize rounded into the cells of a row as they are
// stored in the next of the rows.
func keepLong(stored *excelize.Rows, cells []string) error {
	stored.Next()
	raw, err := stored.Columns(excelize.Options{RawCellValue: true})
	if err != nil {
		return err
	}
	for i, value := range raw[:min(len(raw), len(cells))] {
		if isLong([]byte(value)) && !strings.HasPrefix(cells[i], dateMark[:2]) {
			cells[i] = value
		}
	}
	return nil
}

// eachCopied gives the rows that copyCells wrote.
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
