package source

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
)

const (
	// maxXMLDepth is how deep elements of XML may be nested, and maxAttributes how many
	// attributes one may have: the decoder remembers the namespaces of all that are open.
	maxXMLDepth   = 256
	maxAttributes = 1000
)

// errLongElement is XML of which a part that is read at once takes more than MaxValue bytes.
var errLongElement = errors.New("element too long")

// xmlError is XML that cannot be read.
type xmlError struct{ err error }

func (e *xmlError) Error() string { return "read XML: " + e.err.Error() }

// xmlReader reads the tokens of XML in bounded memory.
type xmlReader struct {
	ctx     context.Context
	decoder *xml.Decoder
	// left is how many bytes may be read until the next reset.
	left int
	// depth counts the open elements, and tokens all that were read.
	depth, tokens int
	// elements says that there was one.
	elements bool
}

func newXMLReader(ctx context.Context, content io.Reader) *xmlReader {
	x := &xmlReader{ctx: ctx, left: MaxValue}
	x.decoder = xml.NewDecoder(ReaderFunc(func(p []byte) (int, error) {
		n, err := content.Read(p)
		if x.left -= n; x.left < 0 {
			return 0, errLongElement
		}
		return n, err
	}))
	x.decoder.CharsetReader = decodeXML
	return x
}

// decodeXML decodes XML that says that it is not in UTF-8.
func decodeXML(encoding string, content io.Reader) (io.Reader, error) {
	switch strings.ToLower(encoding) {
	case "utf8":
		return content, nil
	case "us-ascii", "iso-8859-1", "windows-1252":
		return charmap.Windows1252.NewDecoder().Reader(content), nil
	}
	return nil, fmt.Errorf("unknown encoding %s", Excerpt(encoding))
}

// reset starts a part that is read at once, of at most MaxValue bytes.
func (x *xmlReader) reset() { x.left = MaxValue }

// next returns the next token, nil after the last one. A text is valid until the next call.
func (x *xmlReader) next() (xml.Token, error) {
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
		return nil, &xmlError{err}
	}
	switch t := token.(type) {
	case xml.StartElement:
		x.elements = true
		if x.depth++; x.depth > maxXMLDepth || len(t.Attr) > maxAttributes {
			return nil, &xmlError{errors.New("too many nested elements or attributes")}
		}
	case xml.EndElement:
		x.depth--
	}
	return token, nil
}

// skip reads past the end of the element that was started last.
func (x *xmlReader) skip() error {
	for outside := x.depth - 1; x.depth > outside; {
		if _, err := x.next(); err != nil {
			return err
		}
	}
	return nil
}

// attribute returns an attribute of an element by its name without a prefix.
func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name && a.Name.Space != "xmlns" {
			return a.Value
		}
	}
	return ""
}

// isSet reports whether an attribute says true.
func isSet(t xml.StartElement, name string) bool {
	set, err := strconv.ParseBool(attribute(t, name))
	return err == nil && set
}

// readXML reads a file of an archive.
func readXML(ctx context.Context, entry *zip.File, read func(x *xmlReader) error) error {
	content, err := entry.Open()
	if err != nil {
		return &xmlError{err}
	}
	defer content.Close()
	return read(newXMLReader(ctx, content))
}

// eachElement returns the start of each element of a file of an archive, until give has enough.
func eachElement(ctx context.Context, entry *zip.File, give func(t xml.StartElement) (enough bool)) error {
	return readXML(ctx, entry, func(x *xmlReader) error {
		for {
			x.reset()
			token, err := x.next()
			if token == nil || err != nil {
				return err
			}
			if t, ok := token.(xml.StartElement); ok && give(t) {
				return nil
			}
		}
	})
}
