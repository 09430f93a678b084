package xlsx

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"parley/storage/datasets/ingest/xmlstream"
)

const (
	// textsInMemory is up to which size of their XML the texts of a workbook are held in memory.
	textsInMemory = 4 << 20
	// maxTexts is how many texts the cells of a workbook may share.
	maxTexts = 4 << 20
)

// sharedTexts are the texts that cells of a workbook refer to by their numbers.
type sharedTexts struct {
	content io.ReaderAt
	// ends are where the texts end in the content.
	ends []int64
}

// ReadTexts reads the texts that cells refer to, once, before the first sheet is read.
func (w *Workbook) ReadTexts(ctx context.Context) error {
	if w.texts != nil {
		return nil
	}
	texts := &sharedTexts{content: strings.NewReader("")}
	if w.textsEntry != nil {
		write := func(out io.Writer) error {
			return xmlstream.ReadEntry(ctx, w.textsEntry, func(x *xmlstream.Reader) error { return texts.copy(x, out) })
		}
		if err := w.storeTexts(texts, write); err != nil {
			return err
		}
	}
	w.texts = texts
	return nil
}

// storeTexts puts the texts that are written into memory, or into a file where they are many.
func (w *Workbook) storeTexts(texts *sharedTexts, write func(io.Writer) error) error {
	if w.textsEntry.UncompressedSize64 <= textsInMemory {
		var content bytes.Buffer
		err := write(&content)
		texts.content = bytes.NewReader(content.Bytes())
		return err
	}
	name, err := w.writeTemp(write)
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open temporary file: %w", err)
	}
	if err := os.Remove(name); err != nil {
		return errors.Join(err, file.Close())
	}
	texts.content = file
	return nil
}

// copy writes the texts one after the other, those of rich text without their formats. Phonetic
// guides are left out.
func (s *sharedTexts) copy(x *xmlstream.Reader, out io.Writer) error {
	var text []byte
	var end int64
	inText := false
	for {
		token, err := x.Next()
		if token == nil || err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "si":
				x.Reset()
				text = text[:0]
			case "t":
				inText = true
			case "rPh":
				if err := x.Skip(); err != nil {
					return err
				}
			}
		case xml.CharData:
			if inText {
				text = append(text, t...)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "si":
				n, err := io.WriteString(out, unescape(string(text)))
				if err != nil {
					return err
				}
				if len(s.ends) == maxTexts {
					return &xmlstream.Error{Err: errors.New("too many texts")}
				}
				end += int64(n)
				s.ends, text = append(s.ends, end), text[:0]
			}
		}
	}
}

// get returns the text with a number, as a cell holds it.
func (s *sharedTexts) get(number string) (string, error) {
	i, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || i < 0 || i >= len(s.ends) {
		return "", &xmlstream.Error{Err: fmt.Errorf("no text %s", number)}
	}
	start := int64(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	text := make([]byte, s.ends[i]-start)
	if _, err := s.content.ReadAt(text, start); err != nil && len(text) > 0 {
		return "", fmt.Errorf("read temporary file: %w", err)
	}
	return string(text), nil
}

func (s *sharedTexts) close() {
	if s == nil {
		return
	}
	if file, ok := s.content.(*os.File); ok {
		_ = file.Close()
	}
}

// escaped are characters that XML cannot hold, in UTF-16, or an underscore before what looks like
// one.
var escaped = regexp.MustCompile(`(_x[0-9A-Fa-f]{4}_)+`)

// unescape returns a text with the characters that are escaped.
func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escaped.ReplaceAllStringFunc(text, func(codes string) string {
		var units []uint16
		for ; codes != ""; codes = codes[len("_x0000_"):] {
			unit, _ := strconv.ParseUint(codes[2:6], 16, 16)
			units = append(units, uint16(unit))
		}
		return string(utf16.Decode(units))
	})
}
