package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

	"parley/storage/datasets/ingest/source"
)

// maxRecord is the most bytes a row of CSV may have.
const maxRecord = 2_000_000

// csvBuffer is how many bytes of CSV DuckDB reads at a time, of which it keeps
// several: by itself it would take sixteen times the longest row. With less than four of the
// longest rows its parallel reader fails, and the sequential one holds 2048 rows.
const csvBuffer = 4*maxRecord + 100_000

// csvScanner checks records of CSV, and finds the kinds of their values: fields
// separated by one character, quoted with " where they hold it, line ends or
// quotes, a quote within quotes doubled.
type csvScanner struct {
	separator byte
	// names are the columns'; without names the record is the header, or one of
	// any length.
	names []string
	stop  [256]bool
	// nulls are further spellings of a missing value.
	nulls [][]byte
	// yearFirst says which columns have dates that start with the year, by an option.
	yearFirst []bool
	// onField, unless nil, gets the fields as they stand in the text, those of a
	// record that the buffer cuts off again. Stray says that a field holds a quote
	// that is not doubled, last that it ends its record.
	onField func(column int, field []byte, stray, last bool)
}

// csvBlock is what a scanner found in some records. Lines count from 0.
type csvBlock struct {
	columns []columnCells
	// values are the fields of the record that is being read.
	values [][]byte
	rows   int64
	lines  int64
	// lf and crlf say that lines end with LF alone, and with CR LF.
	lf, crlf bool
	blank    bool
	// stray says that a field holds a quote that is not doubled.
	stray bool
	// empty counts records without a value, which are no rows.
	empty int64
	// totals are rows that look like totals.
	totals  cellGroup
	problem *csvProblem
}

// csvProblem is a rule that a record breaks.
type csvProblem struct {
	line   int64
	column string
	reason string
	// encoding says that the record is not UTF-8 text.
	encoding bool
}

func newCSVScanner(separator byte, names []string) *csvScanner {
	s := &csvScanner{separator: separator, names: names}
	for _, c := range []byte{separator, '\n', '\r', '"'} {
		s.stop[c] = true
	}
	return s
}

func (s *csvScanner) newBlock() *csvBlock {
	b := &csvBlock{columns: make([]columnCells, len(s.names)), values: make([][]byte, len(s.names))}
	for i := range s.yearFirst {
		b.columns[i].yearFirst = s.yearFirst[i]
	}
	return b
}

// scan reads whole records, at most limit, and returns how many bytes they have.
// With final, the end of buf is the end of the file.
func (s *csvScanner) scan(b *csvBlock, buf []byte, final bool, limit int64) (consumed int) {
	pos := 0
	for pos < len(buf) && b.rows < limit {
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
		if b.problem != nil || !ok {
			return pos
		}
		if n > maxRecord {
			b.problem = &csvProblem{line: line, reason: tooLong(nil)}
			return pos
		}
		pos += n
	}
	return pos
}

// lineEnd returns the length of the line end that buf begins with. Partial means
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
	// A CR alone ends the file; it is neither form, so that there are two.
	b.lf = b.lf || len(end) == 1
	b.crlf = b.crlf || len(end) > 0 && end[0] == '\r'
}

// record reads one record, which is not blank. It is not ok when buf ends before
// the record does.
func (s *csvScanner) record(b *csvBlock, buf []byte, final bool) (n int, ok bool) {
	line, inner := b.lines, int64(0)
	pos, column := 0, 0
	for {
		start := pos
		stray := false
		var value []byte
		if pos < len(buf) && buf[pos] == '"' {
			end, lines, closed := closingQuote(buf[pos:])
			if !closed {
				if final {
					b.problem = s.unclosed(line+inner, column)
				}
				return 0, false
			}
			if rest := buf[pos+end+1:]; len(rest) > 0 && rest[0] != s.separator && rest[0] != '\n' && rest[0] != '\r' {
				// The quote stands within the field, if another ends it.
				more := s.looseEnd(rest)
				if more == 0 && !final && bytes.IndexByte(rest, '\n') < 0 {
					return 0, false
				}
				if more > 0 {
					stray, b.stray = true, true
					end += more
				}
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
				b.problem = s.followed(line+inner, column, buf[pos:])
				return 0, false
			}
			last = true
		}
		if column < len(s.names) {
			b.values[column] = value
		}
		if s.onField != nil {
			s.onField(column, buf[start:pos], stray, last)
		}
		column++
		if !last {
			pos++
			continue
		}
		b.lines += inner
		b.endLine(buf[pos : pos+width])
		if s.names != nil && column != len(s.names) {
			b.problem = &csvProblem{line: line, reason: s.raggedReason(column)}
			return 0, false
		}
		if isEmptyRecord(b.values) {
			b.empty++
			return pos + width, true
		}
		b.rows++
		s.count(b, line)
		return pos + width, true
	}
}

// isEmptyRecord reports whether no field has a value. A single field is a value that
// is missing.
func isEmptyRecord(values [][]byte) bool {
	return len(values) > 1 && !slices.ContainsFunc(values, func(value []byte) bool { return !isBlank(value) })
}

// raggedReason says what is wrong with a record of so many fields, and what to do.
func (s *csvScanner) raggedReason(fields int) string {
	reason := fmt.Sprintf("the row has %s, not %d; ", source.Count(fields, "field"), len(s.names))
	switch {
	case fields == 1:
		return reason + "delete a line that is not part of the table, or put an empty line above notes at the end"
	case fields < len(s.names):
		return reason + "add the missing delimiters, or delete the line"
	}
	return reason + "remove surplus delimiters, or quote a field that contains one"
}

// looseEnd returns how far a quote is that ends a field, on the same line, after one
// that does not. It is 0 where there is none.
func (s *csvScanner) looseEnd(rest []byte) int {
	if trimmed := bytes.TrimLeft(rest, " "); len(trimmed) == 0 || trimmed[0] == s.separator || trimmed[0] == '\n' || trimmed[0] == '\r' {
		return 0
	}
	for i, c := range rest {
		if c == '\n' {
			break
		}
		if c == '"' && (i+1 == len(rest) || rest[i+1] == s.separator || rest[i+1] == '\n' || rest[i+1] == '\r') {
			return i + 1
		}
	}
	return 0
}

// count counts the cells of a record.
func (s *csvScanner) count(b *csvBlock, line int64) {
	if isTotal(b.values) {
		b.totals.add(line)
	}
	for i, value := range b.values {
		c := &b.columns[i]
		switch {
		case len(value) == 0 || slices.ContainsFunc(s.nulls, func(null []byte) bool { return bytes.Equal(null, value) }):
			c.empty++
		case !c.text:
			c.addValue(value, line)
		case value[0] == ' ' && isBlank(value):
			c.add(kindMissing, formPadded, line)
		}
	}
}

// unclosed is the problem of a field whose quote is never closed.
func (s *csvScanner) unclosed(line int64, column int) *csvProblem {
	if s.names == nil {
		return &csvProblem{line: line, reason: "a quote is opened in the header and never closed"}
	}
	return s.problem(line, column, "a quote is opened and never closed")
}

// followed is the problem of a field that ends neither with a separator nor with
// its line.
func (s *csvScanner) followed(line int64, column int, rest []byte) *csvProblem {
	next := quote(source.Excerpt(string(rest[:min(len(rest), 10)])))
	switch {
	case rest[0] == '\r' && s.names == nil:
		return &csvProblem{line: line, reason: "a carriage return stands in the header; lines end with LF or CR LF"}
	case rest[0] == '\r':
		return s.problem(line, column, "a carriage return stands in the line; lines end with LF or CR LF")
	case s.names == nil:
		return &csvProblem{line: line, reason: "a quoted name in the header is followed by " + next}
	}
	return s.problem(line, column, "a quoted field is followed by "+next+"; a quote within quotes is written twice")
}

// nextStop returns where the next byte is that can end a field or is a quote. It
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

// closingQuote returns where the quote that opens buf is closed, and the lines
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

func (s *csvScanner) problem(line int64, column int, reason string) *csvProblem {
	p := &csvProblem{line: line, reason: reason}
	if column < len(s.names) {
		p.column = s.names[column]
	}
	return p
}

// merge adds the block that follows.
func (b *csvBlock) merge(next *csvBlock) {
	for i := range next.columns {
		b.columns[i].merge(&next.columns[i], b.lines)
	}
	if next.problem != nil {
		next.problem.line += b.lines
		b.problem = next.problem
	}
	b.totals.merge(&next.totals, b.lines)
	b.empty += next.empty
	b.rows += next.rows
	b.lines += next.lines
	b.lf = b.lf || next.lf
	b.crlf = b.crlf || next.crlf
	b.blank = b.blank || next.blank
	b.stray = b.stray || next.stray
}

// blockSize is how many bytes of a file are scanned at a time. A block must hold
// the longest record.
const blockSize = 4 << 20

// scanFile scans a file from an offset, where a record starts, to its end, and
// adds what it finds to whole. It uses several cores until it finds a stray
// quote, with which quotes alone do not show where records end. It calls
// checked, one call at a time, with what was scanned.
func (s *csvScanner) scanFile(ctx context.Context, path string, offset int64, whole *csvBlock, checked func(bytes, rows int64)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer f.Close()
	if s.onField == nil {
		scanned, stray, err := s.scanParallel(ctx, io.NewSectionReader(f, offset, math.MaxInt64-offset), whole, checked)
		if err != nil || !stray {
			return err
		}
		offset += scanned
	}
	return s.scanInSequence(ctx, io.NewSectionReader(f, offset, math.MaxInt64-offset), whole, checked)
}

// scanParallel cuts the file into blocks of whole records by counting quotes,
// scans them on several cores, and adds what they hold in order. It stops at a
// block with a stray quote, and returns the bytes before it.
func (s *csvScanner) scanParallel(ctx context.Context, in io.Reader, whole *csvBlock, checked func(bytes, rows int64)) (scanned int64, stray bool, err error) {
	scan, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	// The buffers bound how many blocks there are at a time.
	buffers := make(chan []byte, 1+min(runtime.GOMAXPROCS(0), 4))
	for range cap(buffers) {
		buffers <- nil
	}
	// A block is added after the one before it, which then closes its channel.
	previous := make(chan struct{})
	close(previous)
	var carry []byte
	for final := false; !final && err == nil && scan.Err() == nil; {
		buf := <-buffers
		if buf == nil {
			buf = make([]byte, 0, blockSize)
		}
		if buf, final, err = readBlock(in, append(buf[:0], carry...)); err != nil {
			break
		}
		block, last := buf, final
		if end := lastRecordEnd(buf); !final && end > 0 {
			block = buf[:end]
		}
		carry = append(carry[:0], buf[len(block):]...)
		before, done := previous, make(chan struct{})
		previous = done
		group.Go(func() {
			found := s.newBlock()
			rest := block[s.scanText(found, block, last):]
			<-before
			defer close(done)
			if stray = stray || found.stray; !stray && whole.problem == nil {
				if len(rest) > 0 && found.problem == nil {
					found.problem = &csvProblem{line: found.lines, reason: tooLong(rest)}
				}
				whole.merge(found)
				scanned += int64(len(block))
				checked(int64(len(block)), found.rows)
			}
			if stray || whole.problem != nil {
				stop()
			}
			buffers <- buf
		})
	}
	group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return scanned, stray, err
}

// scanInSequence scans on one core: the end of each record is known when the
// record is read.
func (s *csvScanner) scanInSequence(ctx context.Context, in io.Reader, whole *csvBlock, checked func(bytes, rows int64)) (err error) {
	buf := make([]byte, 0, blockSize)
	for final := false; !final && whole.problem == nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if buf, final, err = readBlock(in, buf); err != nil {
			return err
		}
		found := s.newBlock()
		consumed := s.scanText(found, buf, final)
		if consumed == 0 && len(buf) == cap(buf) && found.problem == nil {
			found.problem = &csvProblem{reason: tooLong(buf)}
		}
		whole.merge(found)
		checked(int64(consumed), found.rows)
		buf = buf[:copy(buf, buf[consumed:])]
	}
	return ctx.Err()
}

// readBlock fills a buffer. Final says that the file ends with it.
func readBlock(in io.Reader, buf []byte) (filled []byte, final bool, err error) {
	n, err := io.ReadFull(in, buf[len(buf):cap(buf)])
	final = err == io.EOF || err == io.ErrUnexpectedEOF
	if err != nil && !final {
		return nil, false, fmt.Errorf("read source: %w", err)
	}
	return buf[:len(buf)+n], final, nil
}

// lastRecordEnd returns the end of the last line in buf that ends outside quotes,
// 0 when there is none. Buf begins outside quotes.
func lastRecordEnd(buf []byte) int {
	quotes := bytes.Count(buf, []byte{'"'})
	for end := len(buf); ; {
		i := bytes.LastIndexByte(buf[:end], '\n')
		if i < 0 {
			return 0
		}
		quotes -= bytes.Count(buf[i:end], []byte{'"'})
		if quotes%2 == 0 {
			return i + 1
		}
		end = i
	}
}

// scanText is scan for bytes that may not be text.
func (s *csvScanner) scanText(b *csvBlock, buf []byte, final bool) (consumed int) {
	consumed = s.scan(b, buf, final, math.MaxInt64)
	text := buf[:consumed]
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return consumed
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		wrong := r == utf8.RuneError && size == 1
		if r == 0 || wrong {
			b.problem = &csvProblem{line: int64(bytes.Count(text[:i], []byte{'\n'})), reason: "the line holds binary data", encoding: wrong}
			break
		}
		i += size
	}
	return consumed
}

// tooLong says what is wrong with a record that does not end in a block.
func tooLong(record []byte) string {
	if bytes.Count(record, []byte{'"'})%2 == 1 {
		return fmt.Sprintf("a quote is opened and not closed within %d bytes", maxRecord)
	}
	return fmt.Sprintf("the row is longer than %d bytes", maxRecord)
}

// rewrite copies the records of a file from an offset on without blank and empty ones,
// with one kind of line end and with quotes around fields that hold quotes.
func (s *csvScanner) rewrite(ctx context.Context, from string, offset int64, to io.Writer) error {
	plain := newCSVScanner(s.separator, s.names)
	var record []byte
	empty := false
	plain.onField = func(column int, field []byte, stray, last bool) {
		if column == 0 {
			record = record[:0]
		}
		if stray && field[0] == '"' {
			field = bytes.ReplaceAll(field[1:len(field)-1], []byte(`""`), []byte{'"'})
		}
		if stray {
			field = append(append([]byte{'"'}, bytes.ReplaceAll(field, []byte{'"'}, []byte(`""`))...), '"')
		}
		record = append(record, field...)
		if column == 0 {
			empty = len(s.names) > 1
		}
		if len(field) > 1 && field[0] == '"' {
			field = field[1 : len(field)-1]
		}
		empty = empty && isBlank(field)
		if last && empty {
			return
		}
		if !last {
			record = append(record, s.separator)
			return
		}
		_, _ = to.Write(append(record, '\n')) // the buffered writer keeps the error
	}
	return plain.scanFile(ctx, from, offset, plain.newBlock(), func(int64, int64) {})
}
