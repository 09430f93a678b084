// Package xmlstream reads the XML of workbooks and documents in bounded memory. What its elements
// mean is left to its users.
package xmlstream

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"parley/internal/domain"
)

const (
	// maxXMLDepth is how deep elements of XML may be nested, and maxAttributes how many
	// attributes one may have: the decoder remembers the namespaces of all that are open.
	maxXMLDepth   = 256
	maxAttributes = 1000
)

// MaxPart is the most bytes of a part that is read at once.
const MaxPart = 16 << 20

// ErrLong is XML of which a part that is read at once takes more than MaxPart bytes.
var ErrLong = errors.New("element too long")

// Error is XML that cannot be read, and why.
type Error struct{ Err error }

func (e *Error) Error() string { return "read XML: " + e.Err.Error() }

// Reader reads the tokens of XML in bounded memory.
type Reader struct {
	ctx     context.Context
	decoder *xml.Decoder
	// left is how many bytes may be read until the next reset.
	left int
	// Depth counts the open elements, and tokens all that were read.
	Depth, tokens int
	// elements says that there was one.
	elements bool
}

// NewReader returns a reader of a text, until ctx ends.
func NewReader(ctx context.Context, content io.Reader) *Reader {
	x := &Reader{ctx: ctx, left: MaxPart}
	x.decoder = xml.NewDecoder(&limitedReader{content, &x.left})
	x.decoder.CharsetReader = decode
	return x
}

// limitedReader fails with ErrLong when nothing is left.
type limitedReader struct {
	io.Reader
	left *int
}

func (r *limitedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if *r.left -= n; *r.left < 0 {
		return 0, ErrLong
	}
	return n, err
}

// decode decodes XML that says that it is not in UTF-8.
func decode(encoding string, content io.Reader) (io.Reader, error) {
	switch strings.ToLower(encoding) {
	case "utf8":
		return content, nil
	case "us-ascii", "iso-8859-1", "windows-1252":
		return charmap.Windows1252.NewDecoder().Reader(content), nil
	}
	return nil, fmt.Errorf("unknown encoding %s", domain.Truncate(encoding, 60))
}

// Reset starts a part that is read at once, of at most MaxPart bytes.
func (x *Reader) Reset() { x.left = MaxPart }

// Next returns the next token, nil after the last one. A text is valid until the next call.
func (x *Reader) Next() (xml.Token, error) {
	if x.tokens++; x.tokens%1024 == 0 && x.ctx.Err() != nil {
		return nil, x.ctx.Err()
	}
	token, err := x.decoder.Token()
	var disk *fs.PathError
	switch {
	case err == io.EOF && x.elements:
		return nil, nil
	case errors.As(err, &disk):
		return nil, fmt.Errorf("read source: %w", err)
	case err != nil:
		return nil, &Error{err}
	}
	switch t := token.(type) {
	case xml.StartElement:
		x.elements = true
		if x.Depth++; x.Depth > maxXMLDepth || len(t.Attr) > maxAttributes {
			return nil, &Error{errors.New("too many nested elements or attributes")}
		}
	case xml.EndElement:
		x.Depth--
	}
	return token, nil
}

// Skip reads past the end of the element that was started last.
func (x *Reader) Skip() error {
	for outside := x.Depth - 1; x.Depth > outside; {
		if _, err := x.Next(); err != nil {
			return err
		}
	}
	return nil
}

// Attribute returns an attribute of an element by its name without a prefix.
func Attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name && a.Name.Space != "xmlns" {
			return a.Value
		}
	}
	return ""
}

// IsSet reports whether an attribute says true.
func IsSet(t xml.StartElement, name string) bool {
	set, err := strconv.ParseBool(Attribute(t, name))
	return err == nil && set
}

// ReadEntry reads a file of an archive.
func ReadEntry(ctx context.Context, entry *zip.File, read func(x *Reader) error) error {
	content, err := entry.Open()
	if err != nil {
		return &Error{err}
	}
	defer content.Close()
	return read(NewReader(ctx, content))
}

// EachElement calls give with the start of each element of a file of an archive, until it has enough.
func EachElement(ctx context.Context, entry *zip.File, give func(t xml.StartElement) (enough bool)) error {
	return ReadEntry(ctx, entry, func(x *Reader) error {
		for {
			x.Reset()
			token, err := x.Next()
			if token == nil || err != nil {
				return err
			}
			if t, ok := token.(xml.StartElement); ok && give(t) {
				return nil
			}
		}
	})
}
