package source

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// errLongElement is XML of which a part that is read at once takes more than MaxValue bytes.
var errLongElement = errors.New("element too long")

// tagReader reads the tags of XML one after the other, without the text between them.
type tagReader struct {
	text *bufio.Reader
	// length is how many bytes were read since the caller set it to 0.
	length int
}

func newTagReader(content io.Reader) *tagReader {
	return &tagReader{text: bufio.NewReaderSize(content, 64<<10)}
}

// next gives the beginning of the next tag, after its "<"; enough for the attributes that
// are read. It is io.EOF after the last one.
func (t *tagReader) next() ([]byte, error) {
	for {
		if err := t.skipTo('<'); err != nil {
			return nil, err
		}
		tag, err := t.peek(64)
		if err != nil {
			return nil, err
		}
		// Tags in comments and texts are none.
		switch {
		case bytes.HasPrefix(tag, []byte("!--")):
			err = t.skipPast("!--", "-->")
		case bytes.HasPrefix(tag, []byte("![CDATA[")):
			err = t.skipPast("![CDATA[", "]]>")
		case bytes.HasPrefix(tag, []byte("?")):
			err = t.skipPast("?", "?>")
		default:
			return tag, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// peek gives the next n bytes, fewer at the end.
func (t *tagReader) peek(n int) ([]byte, error) {
	tag, err := t.text.Peek(n)
	if err == io.EOF {
		err = nil
	}
	return tag, err
}

// skipTo reads past the next byte c.
func (t *tagReader) skipTo(c byte) error {
	for {
		read, err := t.text.ReadSlice(c)
		t.length += len(read)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// skipPast reads the start of a section and all up to its end.
func (t *tagReader) skipPast(start, end string) error {
	if _, err := t.text.Discard(len(start)); err != nil {
		return err
	}
	var tail []byte
	for {
		read, err := t.text.ReadSlice('>')
		t.length += len(read)
		tail = append(tail, read[max(0, len(read)-len(end)):]...)
		tail = tail[max(0, len(tail)-len(end)):]
		switch {
		case err == nil && string(tail) == end:
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// countStrings gives the number of a workbook's shared texts.
func countStrings(ctx context.Context, entry *zip.File) (count int, err error) {
	content, err := entry.Open()
	if err != nil {
		return 0, err
	}
	defer content.Close()
	tags := newTagReader(content)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		tag, err := tags.next()
		switch {
		case err == io.EOF:
			return count, nil
		case err != nil:
			return 0, err
		case tags.length > MaxValue:
			return 0, errLongElement
		}
		if name := tagName(tag); name == "si" || name == "si/" {
			count++
			tags.length = 0
		}
	}
}
