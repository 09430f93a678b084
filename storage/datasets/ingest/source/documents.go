package source

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xmlstream"
)

// openDocument returns the text of a Word document: its paragraphs, with the headings as
// those of Markdown, and its tables a row a line.
func (r *Reader) openDocument(ctx context.Context, in Input, files *zip.ReadCloser) (*Container, error) {
	defer files.Close()
	var entry *zip.File
	for _, f := range files.File {
		if strings.EqualFold(f.Name, "word/document.xml") {
			entry = f
		}
	}
	if entry == nil {
		return nil, refuseDamaged(in.Name)
	}
	limit := r.unpackLimit()
	if entry.UncompressedSize64 > uint64(max(limit, 0)) {
		return nil, refuseTooLarge(in.Name, limit)
	}
	content, err := entry.Open()
	if err != nil {
		return nil, refuseDamaged(in.Name)
	}
	defer content.Close()
	path, err := r.WriteTemp(func(out io.Writer) error {
		d := &document{xml: xmlstream.NewReader(ctx, content), out: out}
		return d.read()
	})
	if err != nil {
		return nil, refuseXML(in.Name, err)
	}
	r.unpacked += int64(entry.UncompressedSize64)
	head, err := ReadHead(path)
	if err != nil {
		return nil, err
	}
	c := &Container{}
	if strings.TrimSpace(string(head)) != "" {
		c.parts = []Part{{Name: "text", Format: Markdown, In: Input{Path: path, Name: in.Name, Head: head}}}
	}
	return c, nil
}

// document writes the text of a document's XML.
type document struct {
	xml *xmlstream.Reader
	out io.Writer
	// heading is the level of the paragraph as a heading, from 1.
	heading int
	// inText says that a text is open, started that the paragraph has one. tables counts the
	// open ones.
	inText, started bool
	tables          int
}

// read reads all elements.
func (d *document) read() error {
	for {
		d.xml.Reset()
		token, err := d.xml.Next()
		if token == nil || err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = d.start(t)
		case xml.CharData:
			if d.inText {
				err = d.addText(string(t))
			}
		case xml.EndElement:
			err = d.end(t.Name.Local)
		}
		if err != nil {
			return err
		}
	}
}

func (d *document) start(t xml.StartElement) error {
	switch t.Name.Local {
	case "p":
		d.heading, d.started = 0, false
	case "pStyle":
		d.heading = headingLevel(xmlstream.Attribute(t, "val"))
	case "tbl":
		d.tables++
	case "tab":
		// Tab stops have the same name.
		if d.started {
			return d.write("\t")
		}
	case "br", "cr":
		if d.started {
			return d.write("\n")
		}
	case "t":
		d.inText = true
	case "Fallback", "delText", "instrText":
		// The same once more, and what is not shown.
		return d.xml.Skip()
	}
	return nil
}

// headingLevel returns the level of the heading that a paragraph's style makes it, 0 for
// other paragraphs.
func headingLevel(style string) int {
	level, ok := strings.CutPrefix(strings.ToLower(style), "heading")
	switch {
	case strings.EqualFold(style, "Title"):
		return 1
	case ok && len(level) == 1 && level >= "1" && level <= "6":
		return int(level[0] - '0')
	}
	return 0
}

func (d *document) addText(text string) error {
	if text == "" {
		return nil
	}
	if !d.started {
		d.started = true
		if d.heading > 0 && d.tables == 0 {
			text = strings.Repeat("#", d.heading) + " " + text
		}
	}
	return d.write(strings.ReplaceAll(text, "\x00", ""))
}

func (d *document) end(name string) error {
	switch name {
	case "t":
		d.inText = false
	case "p":
		if d.tables > 0 {
			return d.write(" ")
		}
		return d.write("\n\n")
	case "tc":
		return d.write("\t")
	case "tr":
		return d.write("\n")
	case "tbl":
		d.tables--
		return d.write("\n")
	}
	return nil
}

func (d *document) write(text string) error {
	_, err := io.WriteString(d.out, text)
	return err
}

const (
	// maxPDF is the most bytes of a PDF file: it is read in memory.
	maxPDF = 64 << 20
	// pdfPages is the memory of PDFium, in pages of 64 KiB.
	pdfPages = 4096
	// instanceWait limits the wait for PDFium, of which a process has one at a time.
	instanceWait = time.Minute
)

// compiledDir is the folder of UseCompiled.
var compiledDir string

// UseCompiled has this process load PDFium from a folder into which [Compile] compiled it,
// where it can. It is called before the first job.
func UseCompiled(dir string) { compiledDir = dir }

// Compile compiles PDFium's WebAssembly, which takes seconds and some 300 MiB, into a folder.
// What is in the folder is executed: no process that reads a source may write there.
func Compile(dir string) error {
	pool, err := newPDFPool(dir)
	if err != nil {
		return fmt.Errorf("compile PDFium: %w", err)
	}
	return pool.Close()
}

// pdfPool starts PDFium, once in a process.
var pdfPool = sync.OnceValues(func() (pdfium.Pool, error) {
	if compiledDir != "" {
		if pool, err := newPDFPool(compiledDir); err == nil {
			return pool, nil
		}
	}
	return newPDFPool("")
})

// newPDFPool loads PDFium from a folder or compiles it, into the folder unless that is "". It
// has no files, and its memory is bounded.
func newPDFPool(dir string) (pdfium.Pool, error) {
	runtime := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfPages)
	if dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, err
		}
		runtime = runtime.WithCompilationCache(cache)
	}
	return webassembly.Init(webassembly.Config{
		MaxIdle: 1, MaxTotal: 1, Stdout: io.Discard, Stderr: io.Discard, FSConfig: wazero.NewFSConfig(), RuntimeConfig: runtime,
	})
}

// openPDF returns the text of a PDF file, a paragraph for each page at least, and its tables.
func (r *Reader) openPDF(ctx context.Context, in Input) (*Container, error) {
	info, err := os.Stat(in.Path)
	if err != nil {
		return nil, fmt.Errorf("stat source: %w", err)
	}
	if info.Size() > maxPDF {
		return nil, refuse("%s is larger than %d bytes, the limit for PDF documents; split it", in.Name, maxPDF)
	}
	content, err := os.ReadFile(in.Path)
	if err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	pool, err := pdfPool()
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	reader, err := pool.GetInstance(instanceWait)
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	defer reader.Close()
	limit := r.unpackLimit()
	text := false
	var tables pdfTables
	path, err := r.WriteTemp(func(out io.Writer) (err error) {
		if text, err = writePages(ctx, reader, content, &limitedWriter{out: out, left: limit}, &tables); err != nil {
			return err
		}
		return checkPDF(ctx, in.Name, content, limit)
	})
	var damage *domain.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errTooLarge):
		return nil, refuseTooLarge(in.Name, limit)
	case errors.Is(err, pdferrors.ErrPassword), errors.Is(err, pdferrors.ErrSecurity):
		return nil, refuse("%s is encrypted; save it without a password and send that", in.Name)
	case errors.As(err, &damage):
		return nil, damage
	case err != nil:
		return nil, refuseDamaged(in.Name)
	case !text:
		return nil, refuse("%s holds no text: its pages are images; use text recognition (OCR) and send the result", in.Name)
	}
	head, err := ReadHead(path)
	if err != nil {
		return nil, err
	}
	r.unpacked += info.Size()
	c := &Container{textFirst: true}
	if err := c.add(in.Name, Part{Name: domain.TextPart, Format: Text, In: Input{Path: path, Name: in.Name, Head: head}}); err != nil {
		return nil, err
	}
	return c, tables.addTo(c, in.Name, r.Options.HeaderRow)
}

// pdfText makes plain text of PDFium's: words that a line end parts with a hyphen, marked
// by a character of its own, are joined.
var pdfText = strings.NewReplacer("\x02\r\n", "", "\ufffe\r\n", "", "\x02", "-", "\ufffe", "-", "\x00", "", "\r\n", "\n", "\r", "\n")

// writePages writes the text of all pages, and reports whether there is any. It collects their tables.
func writePages(ctx context.Context, reader pdfium.Pdfium, content []byte, out io.Writer, tables *pdfTables) (text bool, err error) {
	document, err := reader.OpenDocument(&requests.OpenDocument{File: &content})
	if err != nil {
		return false, err
	}
	pages, err := reader.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document.Document})
	if err != nil {
		return false, err
	}
	for i := range pages.PageCount {
		if err := ctx.Err(); err != nil {
			return text, err
		}
		plain, err := writePage(reader, document.Document, i, out, tables)
		if err != nil {
			return text, err
		}
		text = text || strings.TrimSpace(plain) != ""
	}
	return text, nil
}

// writePage writes the text of a page, counted from 0, and returns it. It collects its tables.
func writePage(reader pdfium.Pdfium, document references.FPDF_DOCUMENT, index int, out io.Writer, tables *pdfTables) (plain string, err error) {
	page, err := reader.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return "", err
	}
	defer func() { _, _ = reader.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page.Page}) }()
	loaded, err := reader.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.Page}})
	if err != nil {
		return "", err
	}
	defer func() { _, _ = reader.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: loaded.TextPage}) }()
	chars, err := reader.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: loaded.TextPage})
	if err != nil {
		return "", err
	}
	text, err := reader.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: loaded.TextPage, Count: chars.Count})
	if err != nil {
		return "", err
	}
	plain = strings.ToValidUTF8(pdfText.Replace(text.Text), "\ufffd")
	if _, err := io.WriteString(out, plain+"\n\n"); err != nil {
		return "", err
	}
	tables.read(reader, loaded.TextPage, index+1, chars.Count)
	return plain, nil
}
