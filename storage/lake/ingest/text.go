package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"parley/storage"
)

// passageColumns are the columns of a text.
var passageColumns = []storage.Column{
	{Name: "document", Type: typeVarchar},
	{Name: "passage", Type: typeBigint},
	{Name: "text", Type: typeVarchar},
}

// passageRow is a passage of a document, numbered from 1.
type passageRow struct {
	Document string `json:"document"`
	Passage  int64  `json:"passage"`
	Text     string `json:"text"`
}

// checkText cuts a text into passages.
func (r *run) checkText(ctx context.Context, path, name string, markdown bool) (*table, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer in.Close()
	target := r.temp(".ndjson")
	file, err := os.Create(target)
	if err != nil {
		return nil, fmt.Errorf("write passages: %w", err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)

	t := &table{name: name, columns: passageColumns}
	s := &splitter{markdown: markdown, give: func(passage []byte) error {
		t.rows++
		return encoder.Encode(passageRow{name, t.rows, string(passage)})
	}}
	if err := r.splitFile(ctx, in, name, s); err != nil {
		return nil, err
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("write passages: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("write passages: %w", err)
	}
	r.progress.checked(0, t.rows)
	t.read = func(want []string, _ bool) (string, []string) {
		return readJSON(target, "newline_delimited", passageColumns, want)
	}
	return t, t.measure(target)
}

// splitFile gives a splitter all lines of a text.
func (r *run) splitFile(ctx context.Context, in io.Reader, name string, s *splitter) error {
	err := eachLine(ctx, in, name, func(line []byte, read int) error {
		r.progress.checked(int64(read), 0)
		if err := s.line(line); err != nil {
			return fmt.Errorf("write passages: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.finish(); err != nil {
		return fmt.Errorf("write passages: %w", err)
	}
	return nil
}

// eachLine gives all lines of a text, each with its end, and how much was read
// for it. A line that is longer than the buffer comes in pieces, which are cut
// between characters.
func eachLine(ctx context.Context, in io.Reader, name string, give func(line []byte, read int) error) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var carry []byte
	for number := int64(1); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, err := lines.ReadSlice('\n')
		line := piece
		if len(carry) > 0 {
			line = append(carry, piece...)
			carry = nil
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			whole := trimPartialRune(line)
			carry = append([]byte(nil), line[len(whole):]...)
			line = whole
		} else if err != nil && err != io.EOF {
			return fmt.Errorf("read source: %w", err)
		}
		switch {
		case bytes.IndexByte(line, 0) >= 0:
			return refuse("%s: the line holds binary data", place(name, number, ""))
		case !utf8.Valid(line):
			return refuse("%s: the line is not UTF-8 text; save the file as UTF-8", place(name, number, ""))
		}
		if err := give(line, len(piece)); err != nil {
			return err
		}
		if err == nil {
			number++
		}
		if err == io.EOF {
			return nil
		}
	}
}
