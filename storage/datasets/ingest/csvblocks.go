package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"unicode/utf8"
)

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
// block with a stray quote, and gives the bytes before it.
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
