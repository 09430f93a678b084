package ingest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/xuri/excelize/v2"
)

// sheetLayout is what excelize does not say of a sheet unless it is in memory.
type sheetLayout struct {
	merges []merge
	// rows is the number of the last row, from 1.
	rows int
	// values says that cells have values.
	values bool
}

// maxMerges is how many merged cells a sheet may have.
const maxMerges = 500_000

var errSheet = errors.New("not a whole sheet")

// scanSheet reads the tags of a sheet's XML, and checks that it unpacks and has an end.
func scanSheet(ctx context.Context, entry *zip.File) (layout sheetLayout, err error) {
	content, err := entry.Open()
	if err != nil {
		return layout, err
	}
	defer content.Close()
	text := bufio.NewReaderSize(content, 64<<10)
	closed := false
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return layout, ctx.Err()
		}
		if err := skipTo(text, '<'); err == io.EOF {
			break
		} else if err != nil {
			return layout, err
		}
		// Enough for the attributes that are read.
		tag, err := text.Peek(12)
		if err != nil && err != io.EOF {
			return layout, err
		}
		switch name := tagName(tag); name {
		case "v", "t":
			layout.values = true
		case "row", "mergeCell":
			// A long tag is cut off; the attribute is among the first.
			if tag, err = text.Peek(200); err != nil && err != io.EOF {
				return layout, err
			}
			if err := layout.add(name, tag); err != nil {
				return layout, err
			}
		case "/sheetData", "sheetData/":
			closed = true
		}
	}
	if !closed {
		return layout, errSheet
	}
	return layout, nil
}

func (l *sheetLayout) add(name string, tag []byte) error {
	if end := bytes.IndexByte(tag, '>'); end >= 0 {
		tag = tag[:end]
	}
	if name == "row" {
		l.rows++
		if given, err := strconv.Atoi(attribute(tag, "r")); err == nil && given > 0 {
			l.rows = given
		}
		return nil
	}
	from, to, _ := bytes.Cut([]byte(attribute(tag, "ref")), []byte(":"))
	left, top, err := excelize.CellNameToCoordinates(string(from))
	if err != nil {
		return err
	}
	right, bottom, err := excelize.CellNameToCoordinates(string(to))
	if err != nil {
		return err
	}
	if l.merges = append(l.merges, merge{top - 1, left - 1, bottom - 1, right - 1}); len(l.merges) > maxMerges {
		return errSheet
	}
	return nil
}

// tagName gives the name of a tag without its prefix.
func tagName(tag []byte) string {
	if end := bytes.IndexAny(tag, " \t\r\n>"); end >= 0 {
		tag = tag[:end]
	}
	slash := bytes.HasPrefix(tag, []byte("/"))
	if colon := bytes.IndexByte(tag, ':'); colon >= 0 {
		tag = tag[colon+1:]
		if slash {
			return "/" + string(tag)
		}
	}
	return string(tag)
}

// attribute gives the value of an attribute of a tag.
func attribute(tag []byte, name string) string {
	for _, mark := range []string{`"`, `'`} {
		if _, value, ok := bytes.Cut(tag, []byte(" "+name+"="+mark)); ok {
			value, _, _ = bytes.Cut(value, []byte(mark))
			return string(value)
		}
	}
	return ""
}

// skipTo reads past the next byte c.
func skipTo(text *bufio.Reader, c byte) error {
	for {
		_, err := text.ReadSlice(c)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
