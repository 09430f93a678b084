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
)

const byteOrderMark = "\xef\xbb\xbf"

// errDamaged is a gzip file that does not unpack to its end.
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
		return "", refuse("%s is not a whole gzip file", name)
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
		return "", refuse("%s is damaged: it does not unpack to its end", name)
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
