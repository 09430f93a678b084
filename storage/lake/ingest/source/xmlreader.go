package source

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxXMLDepth is how deep elements of XML may be nested.
const maxXMLDepth = 256

// errLongElement is XML of which a part that is read at once takes more than MaxValue bytes.
var errLongElement = errors.New("element too long")

// xmlError is XML that is not as the program that wrote it means it.
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
	return x
}

// reset starts a part that is read at once, of at most MaxValue bytes.
func (x *xmlReader) reset() { x.left = MaxValue }

// next gives the next token, nil after the last one. A text is valid until the next call.
func (x *xmlReader) next() (xml.Token, error) {
	if x.tokens++; x.tokens%1024 == 0 && x.ctx.Err() != nil {
		return nil, x.ctx.Err()
	}
	token, err := x.decoder.Token()
	if err == io.EOF && x.elements {
		return nil, nil
	} else if err != nil {
		return nil, &xmlError{err}
	}
	switch token.(type) {
	case xml.StartElement:
		x.elements = true
		if x.depth++; x.depth > maxXMLDepth {
			return nil, &xmlError{fmt.Errorf("more than %d nested elements", maxXMLDepth)}
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

// attribute gives an attribute of an element by its name without a prefix.
func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
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
