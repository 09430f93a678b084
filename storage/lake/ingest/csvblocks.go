package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"unicode/utf8"
)

// blockSize is how much of a file is scanned at a time. It must hold a record of
// the largest size.
const blockSize = 4 << 20

// errStray asks for a scan in sequence: a quote in a field that is not quoted
// makes it impossible to find records from their quotes alone.
var errStray = fmt.Errorf("a quote stands in a field that is not quoted")

// scanFile scans a file from an offset, which begins a record, to its end, on
// several cores when the file's quoting allows. It calls checked, one call at a
// time, with what was scanned.
func (s *csvScanner) scanFile(ctx context.Context, path string, offset int64, checked func(bytes, rows int64)) (*csvBlock, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	var toldBytes, toldRows int64
	whole, err := s.scanParallel(ctx, f, func(bytes, rows int64) {
		toldBytes += bytes
		toldRows += rows
		checked(bytes, rows)
	})
	if err != errStray {
		return whole, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	// What the first try counted is not counted again.
	return s.scanInSequence(ctx, f, func(bytes, rows int64) {
		freshBytes, freshRows := max(0, bytes-toldBytes), max(0, rows-toldRows)
		toldBytes -= bytes - freshBytes
		toldRows -= rows - freshRows
		checked(freshBytes, freshRows)
	})
}

// part is a run of whole records on its way through a scan.
type part struct {
	buf   []byte
	final bool
	found *csvBlock
	// rest is how many bytes at the end of buf were no whole record.
	rest int
	done chan struct{}
}

// scanParallel cuts the file into runs of whole records by counting quotes,
// scans them on several cores, and adds what they found in order.
func (s *csvScanner) scanParallel(ctx context.Context, in io.Reader, checked func(bytes, rows int64)) (*csvBlock, error) {
	ctx, cancel := context.WithCancel(ctx)
	// The caller reads the same file next, or closes it: nothing may read on.
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	workers := max(1, min(runtime.GOMAXPROCS(0), 4))
	// The queue holds parts in order; its size bounds the memory.
	queue := make(chan *part, workers)
	work := make(chan *part)
	spare := make(chan []byte, 2*workers+2)
	readErr := make(chan error, 1)

	group.Go(func() {
		defer close(queue)
		defer close(work)
		readErr <- cutFile(in, spare, func(p *part) bool {
			select {
			case queue <- p:
			case <-ctx.Done():
				return false
			}
			select {
			case work <- p:
			case <-ctx.Done():
				return false
			}
			return true
		})
	})
	for range workers {
		group.Go(func() {
			for p := range work {
				p.found = s.newBlock()
				p.rest = len(p.buf) - s.scanChecked(p.found, p.buf, p.final)
				close(p.done)
			}
		})
	}

	whole := s.newBlock()
	for p := range queue {
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if p.found.stray {
			return nil, errStray
		}
		if p.rest > 0 && p.found.wrong == nil {
			p.found.wrong = &csvProblem{line: p.found.lines, reason: tooLong(p.buf[len(p.buf)-p.rest:])}
		}
		whole.merge(p.found)
		if whole.wrong != nil {
			return whole, nil
		}
		checked(int64(len(p.buf)), p.found.rows)
		select {
		case spare <- p.buf:
		default:
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := <-readErr; err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	return whole, nil
}

// cutFile reads a file and gives it away in runs of whole records.
func cutFile(in io.Reader, spare <-chan []byte, give func(*part) bool) error {
	var carry []byte
	for {
		var buf []byte
		select {
		case buf = <-spare:
			buf = buf[:cap(buf)]
		default:
			buf = make([]byte, blockSize)
		}
		n := copy(buf, carry)
		read, err := io.ReadFull(in, buf[n:])
		buf = buf[:n+read]
		final := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !final {
			return err
		}
		end := len(buf)
		if !final {
			if end = lastRecordEnd(buf); end == 0 {
				end = len(buf)
			}
		}
		carry = append(carry[:0], buf[end:]...)
		if !give(&part{buf: buf[:end], final: final, done: make(chan struct{})}) || final {
			return nil
		}
	}
}

// lastRecordEnd gives the end of the last line in buf that ends outside quotes,
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

// scanInSequence scans on one core, letting each record say where it ends.
func (s *csvScanner) scanInSequence(ctx context.Context, in io.Reader, checked func(bytes, rows int64)) (*csvBlock, error) {
	whole := s.newBlock()
	buf := make([]byte, 0, blockSize)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		read, err := io.ReadFull(in, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+read]
		final := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !final {
			return nil, fmt.Errorf("read source: %w", err)
		}
		found := s.newBlock()
		consumed := s.scanChecked(found, buf, final)
		if consumed == 0 && len(buf) == cap(buf) && found.wrong == nil {
			found.wrong = &csvProblem{reason: tooLong(buf)}
		}
		whole.merge(found)
		if whole.wrong != nil {
			return whole, nil
		}
		checked(int64(consumed), found.rows)
		if final {
			return whole, ctx.Err()
		}
		buf = buf[:copy(buf, buf[consumed:])]
	}
}

// scanChecked is scan for bytes that may not be text.
func (s *csvScanner) scanChecked(b *csvBlock, buf []byte, final bool) int {
	consumed := s.scan(b, buf, final)
	bad := -1
	if i := bytes.IndexByte(buf[:consumed], 0); i >= 0 {
		bad = i
	}
	if i := invalidUTF8(buf[:consumed]); i >= 0 && (bad < 0 || i < bad) {
		bad = i
	}
	if bad >= 0 {
		reason := "the line is not UTF-8 text; save the file as UTF-8"
		if buf[bad] == 0 {
			reason = "the line holds binary data"
		}
		b.wrong = &csvProblem{line: int64(bytes.Count(buf[:bad], []byte{'\n'})), reason: reason}
	}
	return consumed
}

// invalidUTF8 gives where text stops being UTF-8, -1 when nowhere.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tooLong says what is wrong with a record that does not end in a block.
func tooLong(record []byte) string {
	if bytes.Count(record, []byte{'"'})%2 == 1 {
		return fmt.Sprintf("a quote is opened and not closed within %d bytes", maxRecord)
	}
	return fmt.Sprintf("the row is longer than %d bytes", maxRecord)
}

// rewrite copies the records of a file in a form that has no blank lines, one
// kind of line end, and quotes wherever they are due.
func (s *csvScanner) rewrite(ctx context.Context, from string, offset int64, to io.Writer) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer in.Close()
	if _, err := in.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	plain := *s
	plain.copyTo = to
	_, err = plain.scanInSequence(ctx, in, func(int64, int64) {})
	return err
}
