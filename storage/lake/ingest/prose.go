package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// ReadProse gives the text of a source that is plain text or Markdown, checked
// as for passages, so that rows can be extracted from it. For another source, or
// one of an unknown format, ok is false. It refuses a text of more than limit
// bytes, unpacked.
func ReadProse(ctx context.Context, source Source, limit int64) (text string, ok bool, err error) {
	file, err := os.Open(source.Path)
	if err != nil {
		return "", false, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	magic := make([]byte, 3)
	file.ReadAt(magic, 0) //nolint:errcheck // a short file is not gzip, and the decoder meets other errors
	content, _, err := decoder(ctx, file, "")
	if err != nil || !isGzip(magic) && trimGzip(source.Name) != source.Name {
		return "", false, nil //nolint:nilerr // the ingestion says what is wrong with it
	}
	head, err := content.Peek(headSize)
	if err != nil && err != io.EOF {
		return "", false, nil //nolint:nilerr // the same
	}
	if f, err := sniff(source.Name, head); err != nil || !f.prose {
		return "", false, nil //nolint:nilerr // the same
	}
	// The text fits into memory: whether it is UTF-8, the whole of it decides.
	all, err := io.ReadAll(io.LimitReader(content, limit+1))
	if !utf8.Valid(all) {
		var decoded bytes.Buffer
		if possible, _ := decodeWindows1252(bytes.NewReader(all), &decoded); possible {
			all = decoded.Bytes()
		}
	}
	if err == nil && int64(len(all)) <= limit {
		err = eachLine(ctx, bytes.NewReader(all), source.Name, func([]byte, int) {})
	}
	switch {
	case int64(len(all)) > limit:
		return "", true, refuse("%s is longer than %d bytes, the most that rows are extracted from; split it", source.Name, limit)
	case ctx.Err() != nil:
		return "", true, ctx.Err()
	case errors.Is(err, errDamaged):
		return "", true, refuse("%s is damaged: it does not unpack to its end", source.Name)
	}
	return string(all), true, err
}

// SplitProse cuts a text into pieces of at most size bytes: between paragraphs,
// lines or words, whichever there are in the second half of a piece.
func SplitProse(text string, size int) []string {
	var pieces []string
	for len(text) > size {
		cut := len(trimPartialRune([]byte(text[:size])))
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
