package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// isGzip tells gzip by content alone: what a browser or a tool zipped on the way
// often keeps its old name.
func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

func trimGzip(name string) string {
	if len(name) > 3 && strings.EqualFold(name[len(name)-3:], ".gz") {
		return name[:len(name)-3]
	}
	return name
}

// unpack writes what a gzipped source holds to a file of its own. DuckDB could
// read it packed, but on one core, twice, and without a limit.
func (r *run) unpack(ctx context.Context, path, name string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open source: %w", err)
	}
	defer in.Close()
	unzip, err := gzip.NewReader(in)
	if err != nil {
		return "", refuse("%s is not a whole gzip file", name)
	}
	unpacked := r.temp(".unpacked")
	out, err := os.Create(unpacked)
	if err != nil {
		return "", fmt.Errorf("make file to unpack into: %w", err)
	}
	defer out.Close()
	limit := min(r.job.MaxUnpacked, decodedLimit(r.progress.now.Total)-r.unpacked)
	limited := &io.LimitedReader{R: unzip, N: limit + 1}
	if _, err := io.Copy(onlyWriter{out}, &contextReader{ctx, limited}); err != nil {
		var corrupt *gzipError
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.As(err, &corrupt):
			return "", refuse("%s is damaged: it does not unpack to its end", name)
		}
		return "", fmt.Errorf("unpack source: %w", err)
	}
	if limited.N <= 0 {
		return "", refuse("%s unpacks to more than %d bytes, the most that is read", name, limit)
	}
	if err := out.Close(); err != nil {
		return "", fmt.Errorf("unpack source: %w", err)
	}
	r.unpacked += limit + 1 - limited.N
	return unpacked, nil
}

// copyFrom copies a file from an offset on into the work folder.
func (r *run) copyFrom(path string, offset int64) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open source: %w", err)
	}
	defer in.Close()
	if _, err := in.Seek(offset, io.SeekStart); err != nil {
		return "", fmt.Errorf("read source: %w", err)
	}
	target := r.temp(".copy")
	out, err := os.Create(target)
	if err != nil {
		return "", fmt.Errorf("copy source: %w", err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return "", fmt.Errorf("copy source: %w", err)
	}
	return target, out.Close()
}

// onlyWriter hides the file's ReadFrom, which would go round the reader's checks.
type onlyWriter struct{ io.Writer }

// gzipError tells a source's fault from the disk's.
type gzipError struct{ err error }

func (e *gzipError) Error() string { return e.err.Error() }
func (e *gzipError) Unwrap() error { return e.err }

// contextReader ends with its context, and marks the errors of what it reads.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		err = &gzipError{err}
	}
	return n, err
}
