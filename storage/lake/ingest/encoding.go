package ingest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"parley/storage"
)

// Encodings of text, as options and reports name them.
const (
	encodingUTF8        = "utf-8"
	encodingUTF16       = "utf-16"
	encodingWindows1252 = "windows-1252"
)

// encodingHead is how many bytes show whether text without a byte order mark is
// UTF-16.
const encodingHead = 64 << 10

// encodingError is a refusal of text that is not UTF-8.
type encodingError struct{ refusal *storage.Error }

func (e *encodingError) Error() string { return e.refusal.Error() }
func (e *encodingError) Unwrap() error { return e.refusal }

// notUTF8 refuses text at a place.
func notUTF8(place string) error {
	return &encodingError{refuse("%s: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8", place)}
}

// encodingOf gives the encoding of a text that begins with head, as far as the
// head shows it, and its decoder, which is nil for UTF-8.
func encodingOf(head []byte, option string) (string, encoding.Encoding) {
	if isContainer(head) {
		return "", nil
	}
	order, policy := unicode.LittleEndian, unicode.ExpectBOM
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		order = unicode.BigEndian
	default:
		policy = unicode.IgnoreBOM
		if zeros := zerosByParity(head); zeros[0] > zeros[1] {
			order = unicode.BigEndian
		}
	}
	switch {
	case option == encodingUTF16, option == "" && (policy == unicode.ExpectBOM || looksLikeUTF16(head)):
		return encodingUTF16, unicode.UTF16(order, policy)
	case option == encodingWindows1252:
		return encodingWindows1252, charmap.Windows1252
	}
	return encodingUTF8, nil
}

// zerosByParity counts the zeros at even and at odd places.
func zerosByParity(b []byte) (zeros [2]int) {
	for i, c := range b {
		if c == 0 {
			zeros[i%2]++
		}
	}
	return zeros
}

// looksLikeUTF16 detects Latin letters in UTF-16: nearly every
// other byte is zero.
func looksLikeUTF16(head []byte) bool {
	head = head[:min(len(head), encodingHead)]
	zeros := zerosByParity(head)
	return min(zeros[0], zeros[1])*10 <= max(zeros[0], zeros[1]) && max(zeros[0], zeros[1]) > len(head)/3
}

// checkFormat checks a source of a format. Text that is not UTF-8 is read as
// Windows-1252, if it can be that.
func (r *run) checkFormat(ctx context.Context, f *format, in input) (*table, error) {
	before := r.progress.now
	t, err := r.checkLines(ctx, f, in)
	wrong, ok := err.(*encodingError) //nolint:errorlint // checks return it as it is
	if !ok || r.job.Options.Encoding != "" {
		return t, err
	}
	possible := false
	in.path, err = r.rewriteFile(in.path, func(from io.Reader, to io.Writer) (err error) {
		possible, err = decodeWindows1252(from, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !possible {
		return nil, wrong.refusal
	}
	r.progress.now.Rows = before.Rows
	if in.head, err = readHead(in.path); err != nil {
		return nil, err
	}
	r.encoding = encodingWindows1252
	return r.checkLines(ctx, f, in)
}

// checkLines checks a source of a format, in which a CR alone may end lines.
func (r *run) checkLines(ctx context.Context, f *format, in input) (*table, error) {
	if f.lines && bytes.IndexByte(in.head, '\r') >= 0 && bytes.IndexByte(in.head, '\n') < 0 {
		path, err := r.rewriteFile(in.path, func(from io.Reader, to io.Writer) error {
			_, err := io.Copy(to, readerFunc(func(p []byte) (int, error) {
				n, err := from.Read(p)
				for i, c := range p[:n] {
					if c == '\r' {
						p[i] = '\n'
					}
				}
				return n, err
			}))
			return err
		})
		if err != nil {
			return nil, err
		}
		in.path, in.head = path, bytes.ReplaceAll(in.head, []byte{'\r'}, []byte{'\n'})
	}
	return f.check(r, ctx, in)
}

// rewriteFile writes a temporary file from another file.
func (r *run) rewriteFile(path string, rewrite func(from io.Reader, to io.Writer) error) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	return r.writeTemp(func(to io.Writer) error { return rewrite(file, to) })
}

// decodeWindows1252 writes a text in Windows-1252 as UTF-8. It is not ok for a
// text that cannot be that: a damaged UTF-8 text, which has more characters of
// several bytes than wrong bytes, or one with bytes that Windows-1252 has not.
func decodeWindows1252(from io.Reader, to io.Writer) (ok bool, err error) {
	in := bufio.NewReaderSize(from, 1<<20)
	var raw, out []byte
	characters, wrong, undefined := 0, 0, 0
	for {
		c, size, err := in.ReadRune()
		if err == io.EOF {
			return characters <= wrong && undefined == 0, nil
		}
		if err != nil {
			return false, err
		}
		raw = utf8.AppendRune(raw[:0], c)
		if c == utf8.RuneError && size == 1 {
			wrong++
			in.UnreadRune() //nolint:errcheck // it was just read
			b, _ := in.ReadByte()
			raw = append(raw[:0], b)
		} else if size > 1 {
			characters++
		}
		out = out[:0]
		for _, b := range raw {
			undefined += bytes.Count([]byte("\x81\x8d\x8f\x90\x9d"), []byte{b})
			out = utf8.AppendRune(out, charmap.Windows1252.DecodeByte(b))
		}
		if _, err := to.Write(out); err != nil {
			return false, err
		}
	}
}
