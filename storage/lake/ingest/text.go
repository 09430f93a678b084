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

// passageColumns are the columns of a text's passages.
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
func checkText(markdown bool) func(*run, context.Context, input) (*table, error) {
	return func(r *run, ctx context.Context, in input) (*table, error) {
		file, err := os.Open(in.path)
		if err != nil {
			return nil, fmt.Errorf("open source: %w", err)
		}
		defer file.Close()
		t := &table{name: in.name, columns: passageColumns}
		passages, err := r.writeTemp(func(out io.Writer) error {
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			return r.splitFile(ctx, file, in.name, &splitter{markdown: markdown, emit: func(passage []byte) {
				t.rows++
				_ = encoder.Encode(passageRow{in.name, t.rows, string(passage)}) // out keeps the error
			}})
		})
		if err != nil {
			return nil, err
		}
		r.progress.checked(0, t.rows)
		t.read = func(want []string, _ bool) (string, []string) {
			return readJSON(passages, "newline_delimited", passageColumns, want)
		}
		return t, t.measure(passages)
	}
}

// splitFile gives a splitter all lines of a text.
func (r *run) splitFile(ctx context.Context, in io.Reader, name string, s *splitter) error {
	err := eachLine(ctx, in, name, func(line []byte, read int) {
		r.progress.checked(int64(read), 0)
		s.line(line)
	})
	s.finish()
	return err
}

// eachLine gives all lines of a text, each with its end, and how many bytes were
// read for it. A line that is longer than the buffer comes in pieces, which are
// cut between characters.
func eachLine(ctx context.Context, in io.Reader, name string, give func(line []byte, read int)) error {
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
			return notUTF8(place(name, number, ""))
		}
		give(line, len(piece))
		if err == nil {
			number++
		}
		if err == io.EOF {
			return nil
		}
	}
}
