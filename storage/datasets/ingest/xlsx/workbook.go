// Package xlsx reads the sheets of Excel workbooks. What their cells mean as a table is left to its
// users.
//
// It is in place of a library. For two million cells, excelize took 1.3 to 1.6 times as long and
// allocated 1.4 times as much (BenchmarkAgainstExcelize). It gives a number as it is stored or as the
// screen shows it, rounded and in the form of a locale, where a dataset needs its whole value, and a
// date as a date. And here each part of a hostile file is bounded: rows, texts, styles, merged cells.
package xlsx

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xmlstream"
)

// maxInMemory is the most bytes of a file of a workbook whose content is held in memory.
// Sheets and texts are not.
const maxInMemory = 32 << 20

// Workbook is an Excel file: a ZIP archive of XML files. The relations of a file name the others
// that belong to it.
type Workbook struct {
	// Sheets are its worksheets, in order.
	Sheets []Sheet
	// HasMacros says that it has macros, which are not read.
	HasMacros bool
	// TextsSize is the unpacked size of the texts that cells refer to, in bytes.
	TextsSize uint64
	// Formats are how cells show their numbers, by the cells' styles.
	Formats []Format

	name      string
	files     *zip.ReadCloser
	writeTemp func(write func(io.Writer) error) (string, error)
	// entries are the files by their names in lower case.
	entries map[string]*zip.File
	// date1904 says that days count from 1904.
	date1904 bool
	// texts are those that cells refer to, nil until a sheet is read.
	texts *sharedTexts
	// textsEntry holds the texts; it is nil without any.
	textsEntry *zip.File
}

// Sheet is a worksheet.
type Sheet struct {
	Name   string
	Hidden bool
	// Size is its unpacked size in bytes, as the archive says it.
	Size  uint64
	entry *zip.File
	w     *Workbook
}

// Open opens the workbook that an archive is. Name is what messages call it, and writeTemp writes a
// temporary file and returns its path. The workbook closes the archive, also after an error.
func Open(ctx context.Context, name string, files *zip.ReadCloser, writeTemp func(write func(io.Writer) error) (string, error)) (*Workbook, error) {
	w := &Workbook{name: name, files: files, writeTemp: writeTemp, entries: map[string]*zip.File{}}
	for _, f := range files.File {
		w.entries[strings.ToLower(strings.ReplaceAll(f.Name, `\`, "/"))] = f
	}
	if err := w.open(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close closes the archive and removes the texts.
func (w *Workbook) Close() {
	w.texts.close()
	_ = w.files.Close()
}

// entry returns the file of that name, nil where there is none.
func (w *Workbook) entry(name string) *zip.File { return w.entries[strings.ToLower(name)] }

func (w *Workbook) open(ctx context.Context) error {
	w.HasMacros = w.entry("xl/vbaProject.bin") != nil
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
		return &xmlstream.Error{Err: errors.New("no workbook")}
	}
	if w.textsEntry = w.entry(related.kinds["sharedStrings"]); w.textsEntry != nil {
		w.TextsSize = w.textsEntry.UncompressedSize64
	}
	if err := w.readStyles(ctx, w.entry(related.kinds["styles"])); err != nil {
		return err
	}
	return w.readSheets(ctx, w.entry(book), related.sheets)
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
func (w *Workbook) readRelations(ctx context.Context, of string, r *relations) error {
	r.sheets = map[string]string{}
	return w.eachHeld(ctx, w.entry(relationsName(of)), func(t xml.StartElement) {
		if t.Name.Local != "Relationship" {
			return
		}
		target := strings.ReplaceAll(xmlstream.Attribute(t, "Target"), `\`, "/")
		if !strings.HasPrefix(target, "/") {
			target = path.Join("/", path.Dir(of), target)
		}
		kind := path.Base(xmlstream.Attribute(t, "Type"))
		if _, single := r.kinds[kind]; single {
			r.kinds[kind] = target[1:]
		} else if kind == "worksheet" {
			r.sheets[xmlstream.Attribute(t, "Id")] = target[1:]
		}
	})
}

// eachHeld returns the elements of a file whose content is held in memory; none if it is nil.
func (w *Workbook) eachHeld(ctx context.Context, entry *zip.File, give func(t xml.StartElement)) error {
	if entry == nil {
		return nil
	}
	if entry.UncompressedSize64 > maxInMemory {
		return refuse("%s takes too much memory to read; save its sheets as CSV files", w.name)
	}
	return xmlstream.EachElement(ctx, entry, func(t xml.StartElement) bool {
		give(t)
		return false
	})
}

// maxSheets is how many sheets a workbook may list.
const maxSheets = 10_000

// readSheets reads the list of sheets. Paths are their files by the ids of their relations.
func (w *Workbook) readSheets(ctx context.Context, entry *zip.File, paths map[string]string) error {
	listed := 0
	err := w.eachHeld(ctx, entry, func(t xml.StartElement) {
		switch t.Name.Local {
		case "workbookPr":
			w.date1904 = xmlstream.IsSet(t, "date1904")
		case "sheet":
			listed++
			state := xmlstream.Attribute(t, "state")
			// Others are charts and dialogs.
			if entry := w.entry(paths[xmlstream.Attribute(t, "id")]); entry != nil && listed <= maxSheets {
				w.Sheets = append(w.Sheets, Sheet{xmlstream.Attribute(t, "name"), state == "hidden" || state == "veryHidden", entry.UncompressedSize64, entry, w})
			}
		}
	})
	if err == nil && listed > maxSheets {
		err = refuse("%s has more than %d sheets", w.name, maxSheets)
	}
	return err
}

// HasValues reports whether a sheet has a cell with a value.
func (s *Sheet) HasValues(ctx context.Context) (has bool, err error) {
	err = xmlstream.EachElement(ctx, s.entry, func(t xml.StartElement) bool {
		has = t.Name.Local == "v" || t.Name.Local == "t"
		return has
	})
	return has, err
}

// refuse returns an error for the owner of a file.
func refuse(format string, args ...any) error {
	return domain.Errorf(domain.ErrInvalid, format, args...)
}

// excerpt shortens a value for a message.
func excerpt(value string) string { return domain.Truncate(value, 60) }
