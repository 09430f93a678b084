package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// maxRecord is the most bytes a row of CSV may have.
const maxRecord = 2_000_000

// csvBuffer is how many bytes of CSV DuckDB reads at a time, of which it keeps
// several: by itself it would take sixteen times the longest row.
const csvBuffer = 2*maxRecord + 100_000

// csvScanner proves records of CSV, and learns the kinds of their values: fields
// separated by one character, quoted with " where they hold it, line ends or
// quotes, a quote within quotes doubled.
type csvScanner struct {
	separator byte
	names     []string
	stop      [256]bool
	// copyTo, unless nil, gets the records in a form that leaves no questions.
	copyTo io.Writer
	// copied is the record that is being copied: one that the buffer cuts off
	// is read again.
	copied []byte
}

// csvBlock is what a scanner found in a run of records. Lines count from 0.
type csvBlock struct {
	columns []csvColumn
	rows    int64
	lines   int64
	// bare counts line ends of LF alone, paired those of CR LF.
	bare, paired int64
	blank        bool
	// stray says that a quote stands in a field that is not quoted.
	stray bool
	wrong *csvProblem
}

// csvColumn is the kinds of values that a column has. Last is the latest: values
// of a column are mostly alike.
type csvColumn struct {
	seen kindSet
	last kind
}

// csvProblem is a rule that a record breaks.
type csvProblem struct {
	line   int64
	column string
	reason string
}

func newCSVScanner(separator byte, names []string) *csvScanner {
	s := &csvScanner{separator: separator, names: names}
	for _, c := range []byte{separator, '\n', '\r', '"'} {
		s.stop[c] = true
	}
	return s
}

func (s *csvScanner) newBlock() *csvBlock { return &csvBlock{columns: make([]csvColumn, len(s.names))} }

// scan reads whole records and gives how many bytes they have. With final, the
// end of buf is the end of the file.
func (s *csvScanner) scan(b *csvBlock, buf []byte, final bool) (consumed int) {
	for pos := 0; pos < len(buf); {
		if n, partial := lineEnd(buf[pos:], final); n > 0 {
			b.blank = true
			b.endLine(buf[pos : pos+n])
			pos += n
			continue
		} else if partial {
			return pos
		}
		line := b.lines
		n, ok := s.record(b, buf[pos:], final)
		if b.wrong != nil || !ok {
			return pos
		}
		if n > maxRecord {
			b.wrong = &csvProblem{line: line, reason: fmt.Sprintf("the row is longer than %d bytes", maxRecord)}
			return pos
		}
		pos += n
	}
	return len(buf)
}

// lineEnd gives the length of the line end that buf begins with. Partial means
// that more bytes are needed to tell.
func lineEnd(buf []byte, final bool) (n int, partial bool) {
	switch {
	case buf[0] == '\n':
		return 1, false
	case buf[0] != '\r':
		return 0, false
	case len(buf) > 1 && buf[1] == '\n':
		return 2, false
	case len(buf) == 1 && final:
		return 1, false
	}
	return 0, len(buf) == 1
}

// endLine counts a line and its end, which is empty for the last line.
func (b *csvBlock) endLine(end []byte) {
	b.lines++
	switch string(end) {
	case "\n":
		b.bare++
	case "\r\n":
		b.paired++
	case "\r":
		// Only at the end of the file; neither form, so not alike to any.
		b.bare++
		b.paired++
	}
}

// record reads one record, which is not blank. It is not ok when buf ends before
// the record does.
func (s *csvScanner) record(b *csvBlock, buf []byte, final bool) (n int, ok bool) {
	line, inner := b.lines, int64(0)
	pos, column := 0, 0
	for {
		start := pos
		quoted := pos < len(buf) && buf[pos] == '"'
		stray := false
		var value []byte
		if quoted {
			end, lines, closed := closingQuote(buf[pos:])
			if !closed {
				if final {
					b.wrong = s.problem(line+inner, column, "a quote is opened and never closed")
				}
				return 0, false
			}
			inner += lines
			value = buf[pos+1 : pos+end]
			pos += end + 1
		} else {
			for {
				pos = s.nextStop(buf, pos)
				if pos == len(buf) || buf[pos] != '"' {
					break
				}
				stray, b.stray = true, true
				pos++
			}
			value = buf[start:pos]
		}
		if pos == len(buf) && !final {
			return 0, false
		}
		width, partial := 0, false
		last := pos == len(buf)
		if !last && buf[pos] != s.separator {
			if width, partial = lineEnd(buf[pos:], final); partial {
				return 0, false
			}
			if width == 0 {
				reason := "a quoted field is followed by " + quote(excerpt(buf[pos:min(len(buf), pos+10)])) + "; a quote within quotes is written twice"
				if buf[pos] == '\r' {
					reason = "a carriage return stands in the line; lines end with LF or CR LF"
				}
				b.wrong = s.problem(line+inner, column, reason)
				return 0, false
			}
			last = true
		}
		if column < len(s.names) && len(value) > 0 {
			b.columns[column].look(value)
		}
		if s.copyTo != nil {
			s.copyField(column, buf[start:pos], stray)
		}
		column++
		if !last {
			pos++
			continue
		}
		b.lines += inner
		b.endLine(buf[pos : pos+width])
		if column != len(s.names) {
			b.wrong = &csvProblem{line: line, reason: fmt.Sprintf("the row has %s, the header has %d", count(column, "field"), len(s.names))}
			return 0, false
		}
		if s.copyTo != nil {
			s.copyTo.Write(append(s.copied, '\n'))
		}
		b.rows++
		return pos + width, true
	}
}

// nextStop gives where the next byte is that can end a field or is a quote. It
// looks at eight bytes at a time: in x ^ pattern the bytes that are looked for
// are zero, and subtracting one from a zero byte borrows into its top bit. What
// a borrow marks wrongly lies above the first true mark.
func (s *csvScanner) nextStop(buf []byte, pos int) int {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	separators := ones * uint64(s.separator)
	for pos+8 <= len(buf) {
		word := binary.LittleEndian.Uint64(buf[pos:])
		a, b, c, d := word^separators, word^(ones*'\n'), word^(ones*'\r'), word^(ones*'"')
		marks := ((a-ones)&^a | (b-ones)&^b | (c-ones)&^c | (d-ones)&^d) & tops
		if marks != 0 {
			return pos + bits.TrailingZeros64(marks)/8
		}
		pos += 8
	}
	for pos < len(buf) && !s.stop[buf[pos]] {
		pos++
	}
	return pos
}

// look notes a value's kind. Once there is text, the column is text whatever
// follows.
func (c *csvColumn) look(value []byte) {
	if c.last == kindText {
		return
	}
	if !stillIs(c.last, value) {
		c.last = classify(value)
	}
	c.seen.add(c.last)
}

// closingQuote gives where the quote that opens buf is closed, and the lines
// that end in between.
func closingQuote(buf []byte) (end int, lines int64, closed bool) {
	for pos := 1; ; {
		i := bytes.IndexByte(buf[pos:], '"')
		if i < 0 {
			return 0, 0, false
		}
		pos += i
		if pos+1 < len(buf) && buf[pos+1] == '"' {
			pos += 2
			continue
		}
		return pos, int64(bytes.Count(buf[:pos], []byte{'\n'})), true
	}
}

func (s *csvScanner) copyField(column int, field []byte, stray bool) {
	if column == 0 {
		s.copied = s.copied[:0]
	} else {
		s.copied = append(s.copied, s.separator)
	}
	if stray {
		field = append(append([]byte{'"'}, bytes.ReplaceAll(field, []byte{'"'}, []byte(`""`))...), '"')
	}
	s.copied = append(s.copied, field...)
}

func (s *csvScanner) problem(line int64, column int, reason string) *csvProblem {
	p := &csvProblem{line: line, reason: reason}
	if column < len(s.names) {
		p.column = s.names[column]
	}
	return p
}

// merge adds the block that follows.
func (b *csvBlock) merge(next *csvBlock) {
	for i := range b.columns {
		b.columns[i].seen |= next.columns[i].seen
	}
	if next.wrong != nil && b.wrong == nil {
		next.wrong.line += b.lines
		b.wrong = next.wrong
	}
	b.rows += next.rows
	b.lines += next.lines
	b.bare += next.bare
	b.paired += next.paired
	b.blank = b.blank || next.blank
	b.stray = b.stray || next.stray
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
