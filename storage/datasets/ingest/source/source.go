// Package source opens the files of an ingestion. It decodes them, decides their formats, and
// unpacks those that hold tables or texts (a workbook, an archive, an HTML page, an SQLite file,
// a document) into parts: files of CSV, JSON, Parquet or text. What is in these is not its
// concern.
//
// A file that breaks a rule is refused with a *domain.Error of kind ErrInvalid, whose message
// is meant for its owner. Other errors are faults of the program or the machine.
package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xmlstream"
)

// MaxValue is the most bytes of a value or a row that is read into memory.
const MaxValue = xmlstream.MaxPart

// Reader opens the files of one ingestion. It limits what they unpack to, all together.
type Reader struct {
	// Dir is the folder of temporary files.
	Dir string
	// Options say how the files are read.
	Options domain.IngestOptions
	// MaxUnpacked limits the bytes that the files may unpack to. Size is their size as they
	// were sent, which limits it too.
	MaxUnpacked, Size int64
	// Encoding is that of the file which was opened last.
	Encoding string
	// Warnings are about cells of containers.
	Warnings []domain.IngestWarning

	temps int
	// unpacked is the unpacked size of packed files so far.
	unpacked int64
	// zipped says that a file of a ZIP archive is being opened.
	zipped bool
}

// Input is the decoded content of a file.
type Input struct {
	// Path is where it is, and Name what messages call it.
	Path, Name string
	// Head is the first HeadSize bytes.
	Head []byte
	// HeaderRow, unless nil, says that the file is CSV with commas which was written
	// here, and on which line its header is, 0 without one.
	HeaderRow *int
	// HeaderGuessed says that the header is the first row because nothing shows where it is.
	HeaderGuessed bool
	// Forms are the formats of cells that gave the columns their units; it may be nil.
	Forms []string
	// Whole is the key of JSON whose objects are values, not columns; "" for none.
	Whole string
}

// Open decodes a file and decides its format.
func (r *Reader) Open(ctx context.Context, path, name string) (Input, *Format, error) {
	in := Input{Path: path, Name: name}
	head, err := ReadHead(path)
	if err != nil {
		return in, nil, err
	}
	if !isGzip(head) && trimGzip(name) != name && len(head) > 0 {
		return in, nil, refuse("%s is not gzipped, although its name says so", name)
	}
	if in.Path, err = r.decode(ctx, path, name, head); err != nil {
		return in, nil, err
	}
	if in.Head, err = ReadHead(in.Path); err != nil {
		return in, nil, err
	}
	f, err := sniff(name, in.Head)
	if named := extensions[strings.ToLower(filepath.Ext(trimGzip(name)))]; f == JSON && (named == CSV || named == TSV) {
		r.Warnings = append(r.Warnings, domain.IngestWarning{Message: name + " holds JSON, and is read so"})
	}
	return in, f, err
}

// WriteTemp writes a temporary file.
func (r *Reader) WriteTemp(write func(io.Writer) error) (path string, err error) {
	r.temps++
	path = filepath.Join(r.Dir, fmt.Sprintf("temp-%d", r.temps))
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("write temporary file: %w", err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	if err := write(out); err != nil {
		return "", err
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return "", fmt.Errorf("write temporary file: %w", err)
	}
	return path, nil
}

// RewriteTemp writes a temporary file from another file.
func (r *Reader) RewriteTemp(path string, rewrite func(from io.Reader, to io.Writer) error) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	return r.WriteTemp(func(to io.Writer) error { return rewrite(file, to) })
}

// ReadHead reads the first HeadSize bytes of a file.
func ReadHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, HeadSize))
	if err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	return head, nil
}

// ReaderFunc is a function that implements io.Reader.
type ReaderFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f ReaderFunc) Read(p []byte) (int, error) { return f(p) }

// TrimPartialRune drops a character at the end that is cut off.
func TrimPartialRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// Excerpt shortens a value for a message.
func Excerpt(value string) string { return domain.Truncate(value, 60) }

// Count returns a number with a noun, such as "2 cells".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// refuse returns an error for the owner of a file.
func refuse(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.ErrInvalid, format, args...)
}
