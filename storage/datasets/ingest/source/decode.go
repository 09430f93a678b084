package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	stdunicode "unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

const byteOrderMark = "\xef\xbb\xbf"

// errDamaged is a gzip file that cannot be unpacked completely.
var errDamaged = errors.New("damaged gzip file")

// isGzip detects gzip by content alone: a file that a browser or a tool
// compressed in transit often keeps its old name.
func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

func trimGzip(name string) string {
	if len(name) > 3 && strings.EqualFold(name[len(name)-3:], ".gz") {
		return name[:len(name)-3]
	}
	return name
}

// decoder returns the content of a source, unpacked, as UTF-8 without a byte order
// mark, and the encoding that it had, as far as its head shows it.
func decoder(ctx context.Context, source io.Reader, option string) (_ *bufio.Reader, encoding string, _ error) {
	content := bufio.NewReaderSize(source, HeadSize)
	if head, _ := content.Peek(3); isGzip(head) {
		unzip, err := gzip.NewReader(content)
		if err != nil {
			return nil, "", err
		}
		content = bufio.NewReaderSize(ReaderFunc(func(p []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			n, err := unzip.Read(p)
			if err != nil && err != io.EOF {
				err = fmt.Errorf("%w: %w", errDamaged, err)
			}
			return n, err
		}), HeadSize)
	}
	head, _ := content.Peek(encodingHead)
	encoding, from := encodingOf(head, option)
	if from != nil {
		content = bufio.NewReaderSize(from.NewDecoder().Reader(content), HeadSize)
	} else if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		content.Discard(len(byteOrderMark)) //nolint:errcheck // they are in the buffer
	}
	return content, encoding, nil
}

// decode writes the content of a source that is packed, has a byte order mark or
// is not UTF-8 to a file of its own, which the check and DuckDB read. DuckDB
// could unpack it, but on one core, twice, and without a limit.
func (r *Reader) decode(ctx context.Context, path, name string, head []byte) (string, error) {
	packed := isGzip(head)
	r.Encoding = EncodingUTF8
	if r.Options.Encoding == EncodingUTF16 && !packed && len(head) > 0 && !isContainer(head) && bytes.IndexByte(head, 0) < 0 {
		return "", refuse("%s: the text is not UTF-16; leave out the option encoding, or give another one", name)
	}
	if _, from := encodingOf(head[:min(len(head), encodingHead)], r.Options.Encoding); !packed && from == nil && !bytes.HasPrefix(head, []byte(byteOrderMark)) {
		return path, nil
	}
	source, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open source: %w", err)
	}
	defer source.Close()
	content, encoding, err := decoder(ctx, source, r.Options.Encoding)
	if err != nil {
		return "", refuse("%s is not a complete gzip file", name)
	}
	r.Encoding = encoding
	limit := int64(math.MaxInt64 - 1)
	if packed {
		limit = r.unpackLimit()
	}
	var size int64
	decoded, err := r.WriteTemp(func(out io.Writer) (err error) {
		size, err = io.Copy(out, io.LimitReader(content, limit+1))
		return err
	})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, errDamaged):
		return "", refuse("%s is damaged: it cannot be unpacked completely", name)
	case err != nil:
		return "", fmt.Errorf("decode source: %w", err)
	case size > limit:
		return "", refuseTooLarge(name, limit)
	}
	if packed {
		r.unpacked += size
	}
	return decoded, nil
}

// Encodings of text, as options and reports name them.
const (
	EncodingUTF8        = "utf-8"
	EncodingUTF16       = "utf-16"
	EncodingWindows1252 = "windows-1252"
)

// encodingHead is how many bytes show whether text without a byte order mark is
// UTF-16.
const encodingHead = 64 << 10

// encodingOf returns the encoding of a text that begins with head, as far as the
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
	case option == EncodingUTF16, option == "" && (policy == unicode.ExpectBOM || looksLikeUTF16(head)):
		return EncodingUTF16, unicode.UTF16(order, policy)
	case option == EncodingWindows1252:
		return EncodingWindows1252, charmap.Windows1252
	}
	return EncodingUTF8, nil
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

// minRun is the shortest run of bytes beyond ASCII that is unusual in Windows-1252: words such as
// "Größe" have two.
const minRun = 3

// DecodeWindows1252 writes a text in Windows-1252 as UTF-8. It is not ok for a
// text that cannot be that: a damaged UTF-8 text, which has many characters of
// several bytes beside wrong bytes, or one with bytes that Windows-1252 has not. Doubtful
// says that most letters are beyond ASCII, or most of those in runs of such bytes, as in no language that
// is written in it, but in the encodings of Asian, Cyrillic and Greek texts.
func DecodeWindows1252(from io.Reader, to io.Writer) (ok, doubtful bool, err error) {
	in := bufio.NewReaderSize(from, 1<<20)
	var raw, out []byte
	characters, wrong, undefined := 0, 0, 0
	run, runLetters, letters, inRuns, plain := 0, 0, 0, 0, 0
	endRun := func() {
		letters += runLetters
		if run >= minRun {
			inRuns += runLetters
		}
		run, runLetters = 0, 0
	}
	for {
		c, size, err := in.ReadRune()
		if err == io.EOF {
			endRun()
			return characters*10 <= wrong && undefined == 0, inRuns*2 > letters || letters > plain, nil
		}
		if err != nil {
			return false, false, err
		}
		raw = utf8.AppendRune(raw[:0], c)
		if c == utf8.RuneError && size == 1 {
			wrong++
			in.UnreadRune() //nolint:errcheck // it was just read
			b, _ := in.ReadByte()
			raw = append(raw[:0], b)
		} else if size > 1 {
			characters++
		} else {
			endRun()
			if stdunicode.IsLetter(c) {
				plain++
			}
		}
		out = out[:0]
		for _, b := range raw {
			undefined += bytes.Count([]byte("\x81\x8d\x8f\x90\x9d"), []byte{b})
			decoded := charmap.Windows1252.DecodeByte(b)
			if b >= utf8.RuneSelf {
				run++
				switch {
				case decoded == 'ƒ' && beginsWord(in): // in no word; katakana in Shift_JIS begin with it
					letters, inRuns = letters+1, inRuns+1
				case stdunicode.IsLetter(decoded):
					runLetters++
				}
			}
			out = utf8.AppendRune(out, decoded)
		}
		if _, err := to.Write(out); err != nil {
			return false, false, err
		}
	}
}

// beginsWord reports whether no blank, digit or separator follows: a sign of money is not part of a word.
func beginsWord(in *bufio.Reader) bool {
	next, err := in.Peek(1)
	return err == nil && next[0] >= '@'
}

// A small file can decode to very many values: gzip and Parquet store repeated
// values in a few bytes, and an empty JSON object is a row of all columns. So the
// size of a source limits what it may decode to.
const (
	// decodedRatio is the most bytes that a byte of the sources may decode to,
	// unless all of them decode to less than minDecoded.
	decodedRatio = 200
	minDecoded   = 1 << 30
	// maxDecoded is the most bytes that sources may decode to.
	maxDecoded = 100 << 30
)

// DecodedLimit is how many bytes sources of a size may decode to.
func DecodedLimit(size int64) int64 {
	return min(max(minDecoded, size*decodedRatio), maxDecoded)
}
