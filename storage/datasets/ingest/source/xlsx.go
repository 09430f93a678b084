package source

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"parley/internal/domain"
)

const (
	// maxInMemory is the most bytes of a file of a workbook whose content is held in memory.
	// Sheets and texts are not.
	maxInMemory = 32 << 20
	// maxSheets is how many sheets a workbook may list.
	maxSheets = 10_000
)

// workbook reads the sheets of an Excel file: a ZIP archive of XML files. The relations of a file
// name the others that belong to it.
type workbook struct {
	r     *Reader
	name  string
	files *zip.ReadCloser
	// entries are the files by their names in lower case.
	entries map[string]*zip.File
	// formats are how cells show their numbers, by the cells' styles.
	formats []numberFormat
	// date1904 says that days count from 1904.
	date1904 bool
	// texts are those that cells refer to, nil until a sheet is read.
	texts *sharedTexts
	// textsEntry holds the texts; it is nil without any.
	textsEntry *zip.File
}

// sheetEntry is a sheet as a workbook lists it.
type sheetEntry struct{ name, state, relation string }

// openWorkbook returns the visible sheets with values.
func (r *Reader) openWorkbook(ctx context.Context, in Input, files *zip.ReadCloser) (*Container, error) {
	w := &workbook{r: r, name: in.Name, files: files, entries: map[string]*zip.File{}}
	for _, f := range files.File {
		w.entries[strings.ToLower(strings.ReplaceAll(f.Name, `\`, "/"))] = f
	}
	c := &Container{release: w.close}
	if err := w.open(ctx, c); err != nil {
		w.close()
		return nil, refuseXML(in.Name, err)
	}
	return c, nil
}

func (w *workbook) close() {
	w.texts.close()
	_ = w.files.Close()
}

// entry returns the file of that name, nil where there is none.
func (w *workbook) entry(name string) *zip.File { return w.entries[strings.ToLower(name)] }

func (w *workbook) open(ctx context.Context, c *Container) error {
	if w.entry("xl/vbaProject.bin") != nil {
		c.Warnings = append(c.Warnings, domain.IngestWarning{Message: w.name + ": its macros are not read"})
	}
	main := relations{kinds: map[string]string{"officeDocument": "xl/workbook.xml"}}
	if err := w.readRelations(ctx, "", &main); err != nil {
		return err
	}
	book := main.kinds["officeDocument"]
	related := relations{kinds: map[string]string{"sharedStrings": "xl/sharedStrings.xml", "styles": "xl/styles.xml"}}
	if err := w.readRelations(ctx, book, &related); err != nil {
		return err
	}
	if w.entry(book) == nil || w.entry(relationsName(book)) == nil {
		return refuseDamaged(w.name)
	}
	w.textsEntry = w.entry(related.kinds["sharedStrings"])
	if err := w.readStyles(ctx, w.entry(related.kinds["styles"])); err != nil {
		return err
	}
	sheets, err := w.readSheets(ctx, w.entry(book))
	if err != nil {
		return err
	}
	return w.addParts(ctx, c, sheets, related.sheets)
}

// relations are the names of files that belong to another.
type relations struct {
	// sheets are the worksheets by the ids of their relations.
	sheets map[string]string
	// kinds are the files of kinds of which there is one.
	kinds map[string]string
}

// relationsName names the file with the relations of a file, "" for those of the archive.
func relationsName(of string) string {
	folder, name := path.Split(of)
	return folder + "_rels/" + name + ".rels"
}

// readRelations reads the relations of a file, "" for those of the archive.
func (w *workbook) readRelations(ctx context.Context, of string, r *relations) error {
	r.sheets = map[string]string{}
	return w.eachHeld(ctx, w.entry(relationsName(of)), func(t xml.StartElement) {
		if t.Name.Local != "Relationship" {
			return
		}
		target := strings.ReplaceAll(attribute(t, "Target"), `\`, "/")
		if !strings.HasPrefix(target, "/") {
			target = path.Join("/", path.Dir(of), target)
		}
		kind := path.Base(attribute(t, "Type"))
		if _, single := r.kinds[kind]; single {
			r.kinds[kind] = target[1:]
		} else if kind == "worksheet" {
			r.sheets[attribute(t, "Id")] = target[1:]
		}
	})
}

// eachHeld returns the elements of a file whose content is held in memory; none if it is nil.
func (w *workbook) eachHeld(ctx context.Context, entry *zip.File, give func(t xml.StartElement)) error {
	if entry == nil {
		return nil
	}
	if entry.UncompressedSize64 > maxInMemory {
		return refuse("%s takes too much memory to read; save its sheets as CSV files", w.name)
	}
	return eachElement(ctx, entry, func(t xml.StartElement) bool {
		give(t)
		return false
	})
}

func (w *workbook) readSheets(ctx context.Context, entry *zip.File) (sheets []sheetEntry, err error) {
	err = w.eachHeld(ctx, entry, func(t xml.StartElement) {
		switch t.Name.Local {
		case "workbookPr":
			w.date1904 = isSet(t, "date1904")
		case "sheet":
			sheets = append(sheets, sheetEntry{attribute(t, "name"), attribute(t, "state"), attribute(t, "id")})
		}
	})
	return sheets, err
}

// addParts returns the visible sheets with values as the parts of a container. Paths are the sheets'
// files by the ids of their relations.
func (w *workbook) addParts(ctx context.Context, c *Container, sheets []sheetEntry, paths map[string]string) error {
	var size uint64
	if w.textsEntry != nil {
		size = w.textsEntry.UncompressedSize64
	}
	limit := w.r.unpackLimit()
	if len(sheets) > maxSheets {
		return refuse("%s has more than %d sheets", w.name, maxSheets)
	}
	var hidden []string
	for _, sheet := range sheets {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry := w.entry(paths[sheet.relation])
		switch {
		case entry == nil: // a chart, or a dialog
			continue
		case sheet.state == "hidden" || sheet.state == "veryHidden":
			hidden = append(hidden, sheet.name)
			continue
		}
		if size += min(entry.UncompressedSize64, maxDecoded); size > uint64(max(limit, 0)) {
			return refuseTooLarge(w.name, limit)
		}
		// One that cannot be read is refused when it is chosen.
		has, err := hasValues(ctx, entry)
		var wrong *xmlError
		switch {
		case errors.As(err, &wrong):
			has = true
		case err != nil:
			return err
		}
		if has {
			if err := c.add(w.name, w.part(sheet.name, entry)); err != nil {
				return err
			}
		}
	}
	w.r.unpacked += int64(size)
	if len(hidden) > 0 {
		list := ListFirst(hidden)
		if len(c.parts) == 0 {
			return refuse("%s has only hidden sheets: %s; unhide one and send the file again", w.name, list)
		}
		c.Warnings = append(c.Warnings, domain.IngestWarning{Message: fmt.Sprintf("%s: hidden sheets are not read: %s", w.name, list)})
	}
	return nil
}

// hasValues reports whether a sheet has a cell with a value.
func hasValues(ctx context.Context, entry *zip.File) (has bool, err error) {
	err = eachElement(ctx, entry, func(t xml.StartElement) bool {
		has = t.Name.Local == "v" || t.Name.Local == "t"
		return has
	})
	return has, err
}

// part returns a sheet as a table.
func (w *workbook) part(name string, entry *zip.File) Part {
	g := &grid{formats: w.formats}
	return Part{
		Name: name, Format: CSV, grid: g,
		write: func(ctx context.Context, out io.Writer) error {
			if err := w.readTexts(ctx); err != nil {
				return err
			}
			cells, err := w.r.WriteTemp(func(out io.Writer) error { return w.copyCells(ctx, entry, g, out) })
			if err != nil {
				return refuseXML(g.name, err)
			}
			defer os.Remove(cells)
			g.each = func(give func(int, []string) error) error { return eachCopied(ctx, cells, give) }
			return g.writeCSV(out, w.r.Options.HeaderRow)
		},
	}
}
