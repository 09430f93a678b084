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
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// passageColumns are the columns of a text's passages.
var passageColumns = []domain.Column{
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
func checkText(markdown bool) func(*run, context.Context, source.Input) (*table, error) {
	return func(r *run, ctx context.Context, in source.Input) (*table, error) {
		file, err := os.Open(in.Path)
		if err != nil {
			return nil, fmt.Errorf("open source: %w", err)
		}
		defer file.Close()
		t := &table{name: in.Name, columns: passageColumns}
		passages, err := r.files.WriteTemp(func(out io.Writer) error {
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			return r.splitFile(ctx, file, in.Name, &splitter{markdown: markdown, emit: func(passage []byte) {
				t.rows++
				_ = encoder.Encode(passageRow{in.Name, t.rows, string(passage)}) // out keeps the error
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

// splitFile passes all lines of a text to a splitter.
func (r *run) splitFile(ctx context.Context, in io.Reader, name string, s *splitter) error {
	err := eachLine(ctx, in, name, func(line []byte, read int) {
		r.progress.checked(int64(read), 0)
		s.line(line)
	})
	s.finish()
	return err
}

// eachLine calls give with all lines of a text, each with its end, and how many bytes were
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
			whole := source.TrimPartialRune(line)
			carry = append([]byte(nil), line[len(whole):]...)
			line = whole
		} else if err != nil && err != io.EOF {
			return fmt.Errorf("read source: %w", err)
		}
		switch {
		case bytes.IndexByte(line, 0) >= 0:
			return refuse("%s: the line holds binary data", position(name, number, ""))
		case !utf8.Valid(line):
			return notUTF8(position(name, number, ""))
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

// Sizes of passages. A passage ends with the paragraph that brings it to
// enoughWords. A paragraph above mostWords or mostBytes is cut at the end of a
// sentence, or else of a word.
const (
	enoughWords = 150
	mostWords   = 350
	mostBytes   = 4000
)

// splitter cuts text into passages: runs of paragraphs of a few hundred words,
// and in Markdown never across a heading. Passages in order hold all of the
// text but for blanks between them.
type splitter struct {
	markdown bool
	emit     func(passage []byte)

	passage []byte
	words   int
	// body says that the passage has more than headings.
	body  bool
	fence string
	// paragraph holds the lines since the last blank one.
	paragraph []byte
}

// line takes the next line, with its line end. The last one has none.
func (s *splitter) line(line []byte) {
	trimmed := bytes.TrimSpace(line)
	fenced := s.markdown && s.inFence(trimmed)
	switch {
	case len(trimmed) == 0 && !fenced:
		s.endParagraph()
	case s.markdown && !fenced && isHeading(trimmed):
		s.endParagraph()
		if s.body {
			s.endPassage()
		}
		s.passage = append(s.passage, line...)
		s.words += len(bytes.Fields(trimmed))
		return
	}
	s.paragraph = append(s.paragraph, line...)
	// A paragraph can be as long as the file: bound the memory.
	for len(s.paragraph) > 4*mostBytes {
		if s.body {
			s.endPassage()
		}
		s.cutOff(&s.paragraph)
	}
}

// cutOff emits the beginning of text that is too long for a passage.
func (s *splitter) cutOff(text *[]byte) {
	cut := cutPoint(*text)
	s.passage = append(s.passage, (*text)[:cut]...)
	*text = (*text)[cut:]
	s.endPassage()
}

// inFence tracks blocks of code, in which nothing is a heading.
func (s *splitter) inFence(trimmed []byte) bool {
	for _, mark := range []string{"```", "~~~"} {
		if !bytes.HasPrefix(trimmed, []byte(mark)) {
			continue
		}
		if s.fence == "" {
			s.fence = mark
			return true
		}
		if s.fence == mark {
			s.fence = ""
			return true
		}
	}
	return s.fence != ""
}

func isHeading(trimmed []byte) bool {
	level := len(trimmed) - len(bytes.TrimLeft(trimmed, "#"))
	return level >= 1 && level <= 6 && len(trimmed) > level && trimmed[level] == ' '
}

// endParagraph adds the paragraph to the passage, or cuts it into passages.
func (s *splitter) endParagraph() {
	p := s.paragraph
	s.paragraph = s.paragraph[:0]
	if len(bytes.TrimSpace(p)) == 0 {
		s.passage = append(s.passage, p...)
		return
	}
	words := len(bytes.Fields(p))
	if s.body && (s.words+words > mostWords || len(s.passage)+len(p) > mostBytes) {
		s.endPassage()
	}
	for words > mostWords || len(p) > mostBytes {
		s.cutOff(&p)
		words = len(bytes.Fields(p))
	}
	s.passage = append(s.passage, p...)
	s.words += words
	s.body = s.body || words > 0
	if s.words >= enoughWords {
		s.endPassage()
	}
}

// cutPoint returns where to cut text that is too long for a passage.
func cutPoint(p []byte) int {
	words, sentence, word := 0, 0, 0
	blank := true
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		if unicode.IsSpace(r) {
			if !blank && i > 0 {
				word = i
				if c := p[i-1]; c == '.' || c == '!' || c == '?' {
					sentence = i
				}
			}
			blank = true
		} else {
			if blank {
				words++
			}
			blank = false
			if r == '。' || r == '！' || r == '？' {
				sentence = i + size
			}
		}
		if words > mostWords || i+size > mostBytes {
			break
		}
		i += size
	}
	// A sentence that ends early would leave a passage of a few words.
	if sentence > mostBytes/4 || sentence > 0 && sentence > word/2 {
		return sentence
	}
	if word > 0 {
		return word
	}
	end := mostBytes
	for end > 0 && !utf8.RuneStart(p[end]) {
		end--
	}
	if end == 0 {
		end = mostBytes
	}
	return end
}

func (s *splitter) endPassage() {
	passage := bytes.TrimSpace(s.passage)
	s.passage = s.passage[:0]
	s.words, s.body = 0, false
	if len(passage) > 0 {
		s.emit(passage)
	}
}

// finish emits the rest.
func (s *splitter) finish() {
	s.endParagraph()
	s.endPassage()
}

// Text writes the text of a source, from which rows can be extracted, to a file in a folder
// and returns its path: plain text and Markdown, checked as for passages, a document, or a page
// or an archive that holds no table. For a source that holds a table the path is "". It
// refuses a text of more than limit bytes, unpacked. Errors are as those of [Run].
func Text(ctx context.Context, from Source, options domain.IngestOptions, dir string, limit int64) (string, error) {
	work, err := os.MkdirTemp(dir, ".ingest-*")
	if err != nil {
		return "", fmt.Errorf("create work folder: %w", err)
	}
	defer os.RemoveAll(work)
	r := newRun(nil, Job{Options: options}, work)
	if err := r.start([]Source{from}); err != nil {
		return "", err
	}
	in, format, err := r.files.Open(ctx, from.Path, from.Name)
	if err != nil {
		return "", err
	}
	c, err := r.files.Unpack(ctx, in, format)
	if err != nil {
		return "", err
	}
	parts := []source.Part{{Format: format, In: in}}
	if c != nil {
		defer c.Close()
		if parts, err = c.Choose(in.Name, options.Sheet); err != nil {
			return "", nil //nolint:nilerr // the ingestion says what is wrong with it
		}
	}
	var all []byte
	for _, p := range parts {
		if !p.Format.Prose {
			return "", nil
		}
		text, err := r.partText(ctx, p, limit)
		if all = append(all, text...); err == nil && int64(len(all)) > limit {
			err = refuse("%s is longer than %d bytes, the limit for extracting rows; split it", from.Name, limit)
		}
		if err != nil {
			return "", err
		}
		all = append(all, "\n\n"...)
	}
	out := filepath.Join(dir, "text")
	if err := os.WriteFile(out, bytes.TrimSuffix(all, []byte("\n\n")), 0o600); err != nil {
		return "", fmt.Errorf("write text: %w", err)
	}
	return out, nil
}

// partText returns the text of a part, or its first limit bytes and one more. It fits into
// memory: whether it is UTF-8, the whole of it decides.
func (r *run) partText(ctx context.Context, p source.Part, limit int64) (text []byte, err error) {
	in, err := r.files.OpenPart(ctx, p)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(in.Path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	if text, err = io.ReadAll(io.LimitReader(file, limit+1)); err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	if !utf8.Valid(text) {
		var decoded bytes.Buffer
		if possible, _, _ := source.DecodeWindows1252(bytes.NewReader(text), &decoded); possible {
			text = decoded.Bytes()
		}
	}
	if int64(len(text)) > limit {
		return text, nil
	}
	return text, eachLine(ctx, bytes.NewReader(text), in.Name, func([]byte, int) {})
}

// SplitProse cuts a text into pieces of at most size bytes: between paragraphs,
// lines or words, whichever there are in the second half of a piece.
func SplitProse(text string, size int) []string {
	var pieces []string
	for len(text) > size {
		cut := len(source.TrimPartialRune([]byte(text[:size])))
		for _, gap := range []string{"\n\n", "\n", " "} {
			if at := strings.LastIndex(text[:size], gap); at >= size/2 {
				cut = at + len(gap)
				break
			}
		}
		pieces = append(pieces, text[:cut])
		text = text[cut:]
	}
	if strings.TrimSpace(text) != "" {
		pieces = append(pieces, text)
	}
	return pieces
}
