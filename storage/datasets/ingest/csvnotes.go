package ingest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// maxNotes is how many bytes at the end of a file may be notes below its table.
const maxNotes = 16 << 10

// csvNotes are lines of one cell below a table, and below a blank line.
type csvNotes struct {
	// offset is where the table ends, blank how many blank lines follow.
	offset int64
	blank  int
	lines  []string
}

// readNotes finds the notes below a table of several columns: lines with one value below one
// without any. Of those that could be rows, one is of several words.
func readNotes(path string, separator byte, columns int) (notes csvNotes, err error) {
	tail, from, err := readTail(path)
	if err != nil {
		return notes, err
	}
	var found csvNotes
	words, blank := false, false
	for {
		at := lastLine(tail)
		text, fields, row := noteOf(tail[at:], separator, columns)
		if blank && text != "" || row {
			// Above a blank line, the table may end.
			if blank && words {
				found = csvNotes{offset: from + int64(len(tail)), blank: notes.blank, lines: slices.Clone(notes.lines)}
			}
			blank = false
		}
		switch {
		case row || at == 0:
			slices.Reverse(found.lines)
			return found, nil
		case text != "":
			notes.lines, notes.blank = append(notes.lines, text), 0
			words = words || fields == 1 || strings.Contains(text, " ")
		case len(notes.lines) > 0:
			notes.blank++
			blank = true
		}
		tail = tail[:at]
	}
}

// readTail reads the last bytes of a file, from an offset.
func readTail(path string) (tail []byte, from int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("read source: %w", err)
	}
	from = max(0, size-maxNotes)
	tail = make([]byte, size-from)
	if _, err := file.ReadAt(tail, from); err != nil && err != io.EOF {
		return nil, 0, fmt.Errorf("read source: %w", err)
	}
	return tail, from, nil
}

// noteOf returns the only value of a line, also in merged cells, "" for a blank line, and how
// many fields it has. Row says that the line is not one of these.
func noteOf(line []byte, separator byte, columns int) (text string, fields int, row bool) {
	line = bytes.TrimRight(line, "\r\n")
	if len(bytes.Trim(line, " ")) == 0 {
		return "", 0, false
	}
	if bytes.Count(line, []byte{'"'})%2 == 1 {
		return "", 0, true // it ends a value of several lines; so those below it are whole
	}
	records := headRecords(append(slices.Clip(line), '\n'), separator)
	if len(records) != 1 || len(records[0].fields) != 1 && len(records[0].fields) != columns {
		return "", 0, true
	}
	for _, field := range records[0].fields {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		if text != "" && text != field || cellKind(field) != kindText {
			return "", 0, true
		}
		text = field
	}
	return text, len(records[0].fields), false
}

// lastLine returns where the last line of a text begins.
func lastLine(text []byte) int {
	return bytes.LastIndexByte(bytes.TrimSuffix(text, []byte{'\n'}), '\n') + 1
}
