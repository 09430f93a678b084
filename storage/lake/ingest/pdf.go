package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

const (
	// maxPDF is the most bytes of a PDF file: it is read in memory.
	maxPDF = 64 << 20
	// pdfPages is the memory of PDFium, in pages of 64 KiB.
	pdfPages = 4096
	// instanceWait limits the wait for PDFium, of which a process has one at a time.
	instanceWait = time.Minute
)

// pdfPool compiles PDFium's WebAssembly, which takes seconds and some 300 MiB, once in a
// process. It has no files, and its memory is bounded.
var pdfPool = sync.OnceValues(func() (pdfium.Pool, error) {
	return webassembly.Init(webassembly.Config{
		MaxIdle: 1, MaxTotal: 1, Stdout: io.Discard, Stderr: io.Discard,
		FSConfig:      wazero.NewFSConfig(),
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfPages),
	})
})

// openPDF gives the text of a PDF file, a paragraph for each page at least.
func (r *run) openPDF(ctx context.Context, in input) (*container, error) {
	info, err := os.Stat(in.path)
	if err != nil {
		return nil, fmt.Errorf("stat source: %w", err)
	}
	if info.Size() > maxPDF {
		return nil, refuse("%s is larger than %d bytes, the most of a PDF document that is read; split it", in.name, maxPDF)
	}
	content, err := os.ReadFile(in.path)
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
	defer reader.Close() //nolint:errcheck // what was read stays read
	limit := r.unpackLimit()
	text := false
	path, err := r.writeTemp(func(out io.Writer) (err error) {
		text, err = writePages(ctx, reader, content, &limitedWriter{out: out, left: limit})
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errTooLarge):
		return nil, refuseTooLarge(in.name, limit)
	case errors.Is(err, pdferrors.ErrPassword), errors.Is(err, pdferrors.ErrSecurity):
		return nil, refuse("%s is encrypted; save it without a password and send that", in.name)
	case err != nil:
		return nil, refuseDamaged(in.name)
	case !text:
		return nil, refuse("%s holds no text: its pages are pictures; have a program for text recognition (OCR) read them, and send its result", in.name)
	}
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	r.unpacked += info.Size()
	return &container{parts: []part{{name: "text", format: formatText, in: input{path: path, name: in.name, head: head}}}}, nil
}

// pdfText makes plain text of PDFium's: words that a line end parts with a hyphen, marked
// by a character of its own, are joined.
var pdfText = strings.NewReplacer("\x02\r\n", "", "\ufffe\r\n", "", "\x02", "-", "\ufffe", "-", "\x00", "", "\r\n", "\n", "\r", "\n")

// writePages writes the text of all pages, and reports whether there is any.
func writePages(ctx context.Context, reader pdfium.Pdfium, content []byte, out io.Writer) (text bool, err error) {
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
		page, err := reader.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: document.Document, Index: i}}})
		if err != nil {
			return text, err
		}
		plain := strings.ToValidUTF8(pdfText.Replace(page.Text), "\ufffd")
		text = text || strings.TrimSpace(plain) != ""
		if _, err := io.WriteString(out, plain+"\n\n"); err != nil {
			return text, err
		}
	}
	return text, nil
}
