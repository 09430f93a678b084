package ingest

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
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"parley/internal/sqltext"
	"parley/storage"
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

// decoder gives the content of a source, unpacked, as UTF-8 without a byte order
// mark, and the encoding that it had, as far as its head shows it.
func decoder(ctx context.Context, source io.Reader, option string) (_ *bufio.Reader, encoding string, _ error) {
	content := bufio.NewReaderSize(source, headSize)
	if head, _ := content.Peek(3); isGzip(head) {
		unzip, err := gzip.NewReader(content)
		if err != nil {
			return nil, "", err
		}
		content = bufio.NewReaderSize(readerFunc(func(p []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			n, err := unzip.Read(p)
			if err != nil && err != io.EOF {
				err = fmt.Errorf("%w: %w", errDamaged, err)
			}
			return n, err
		}), headSize)
	}
	head, _ := content.Peek(encodingHead)
	encoding, from := encodingOf(head, option)
	if from != nil {
		content = bufio.NewReaderSize(from.NewDecoder().Reader(content), headSize)
	} else if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		content.Discard(len(byteOrderMark)) //nolint:errcheck // they are in the buffer
	}
	return content, encoding, nil
}

// decode writes the content of a source that is packed, has a byte order mark or
// is not UTF-8 to a file of its own, which the check and DuckDB read. DuckDB
// could unpack it, but on one core, twice, and without a limit.
func (r *run) decode(ctx context.Context, path, name string, head []byte) (string, error) {
	packed := isGzip(head)
	r.encoding = encodingUTF8
	if _, from := encodingOf(head[:min(len(head), encodingHead)], r.job.Options.Encoding); !packed && from == nil && !bytes.HasPrefix(head, []byte(byteOrderMark)) {
		return path, nil
	}
	source, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open source: %w", err)
	}
	defer source.Close()
	content, encoding, err := decoder(ctx, source, r.job.Options.Encoding)
	if err != nil {
		return "", refuse("%s is not a complete gzip file", name)
	}
	r.encoding = encoding
	limit := int64(math.MaxInt64 - 1)
	if packed {
		limit = r.unpackLimit()
	}
	var size int64
	decoded, err := r.writeTemp(func(out io.Writer) (err error) {
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

// writeTemp writes a file in the work folder.
func (r *run) writeTemp(write func(io.Writer) error) (path string, err error) {
	r.temps++
	path = filepath.Join(r.work, fmt.Sprintf("temp-%d", r.temps))
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("write temporary file: %w", err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	if err := write(out); err != nil {
		return "", err
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return "", fmt.Errorf("write temporary file: %w", err)
	}
	return path, nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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
	// valueBytes is the least that a value takes.
	valueBytes = 8
)

// decodedLimit is how many bytes sources of a size may decode to.
func decodedLimit(size int64) int64 {
	return min(max(minDecoded, size*decodedRatio), maxDecoded)
}

// checkDecoded refuses a source that, with those before it, decodes to too much
// for their size.
func (r *run) checkDecoded(name string, decoded float64) error {
	decoded += float64(r.decoded)
	limit := decodedLimit(r.uploaded)
	if decoded <= float64(limit) {
		return nil
	}
	return refuse("%s is too large when decoded: %.1f GiB of values from %d bytes, the limit is %.1f GiB",
		name, decoded/(1<<30), r.uploaded, float64(limit)/(1<<30))
}

// checkFooter refuses a Parquet file whose footer says that it decodes to too
// much, before any of it is read. It gives the rows.
func (r *run) checkFooter(ctx context.Context, path, name string) (rows int64, err error) {
	var counted, values, bytes float64
	err = r.db.QueryRowContext(ctx, fmt.Sprintf(`
SELECT CAST(coalesce(sum(rows), 0) AS DOUBLE), CAST(coalesce(sum("values"), 0) AS DOUBLE), CAST(coalesce(sum(bytes), 0) AS DOUBLE)
FROM (
	SELECT row_group_id, max(row_group_num_rows) AS rows, sum(greatest(num_values, row_group_num_rows, 0)) AS "values",
		sum(greatest(total_uncompressed_size, 0)) AS bytes
	FROM parquet_metadata(%s)
	GROUP BY row_group_id
)`, sqltext.Text(path))).Scan(&counted, &values, &bytes)
	if err == nil {
		rows, err = fileRows(ctx, r.db, path)
	}
	if err != nil || float64(rows) != counted {
		return 0, r.badParquet(ctx, name, err)
	}
	return rows, r.checkDecoded(name, max(values*valueBytes, bytes))
}

// measureValues gives the bytes that the values of a Parquet file take. The
// footer can be wrong, and counts repeated values once. Lengths need no decoded
// values, so this is fast where hashing would not be.
func (r *run) measureValues(ctx context.Context, t *table, from string, casts []string) (float64, error) {
	decoded := float64(t.rows) * float64(len(casts)) * valueBytes
	var lengths []string
	for i, c := range t.columns {
		switch {
		case c.Type == typeVarchar || c.Type == typeJSON:
			lengths = append(lengths, fmt.Sprintf("coalesce(sum(strlen(%s)), 0)", casts[i]))
		case c.Type == typeBlob:
			lengths = append(lengths, fmt.Sprintf("coalesce(sum(octet_length(%s)), 0)", casts[i]))
		case isNested(c.Type):
			lengths = append(lengths, fmt.Sprintf("coalesce(sum(strlen(CAST(%s AS VARCHAR))), 0)", casts[i]))
		}
	}
	if len(lengths) == 0 {
		return decoded, nil
	}
	var length float64
	query := fmt.Sprintf("SELECT CAST(%s AS DOUBLE) FROM %s", strings.Join(lengths, " + "), from)
	if err := r.db.QueryRowContext(ctx, query).Scan(&length); err != nil {
		return 0, r.badParquet(ctx, t.name, err)
	}
	return decoded + length, nil
}
